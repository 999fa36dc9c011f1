"""Commands that call the API of a server in the tests' own process, each as one of the users of an organization."""

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.every_command import app
from tests.app.deployment_harness import OrganizationClient


class Commands:
    """The command line of the users of an organization."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, url: str, place: OrganizationClient) -> None:
        self.monkeypatch = monkeypatch
        self.place = place
        monkeypatch.setenv("HEADGATE_URL", f"{url}{place.address}")
        monkeypatch.setenv("COLUMNS", "300")

    def invoke(self, user: str, *words: str) -> Result:
        """Return the result of a command, whatever its exit code."""
        self.monkeypatch.setenv("HEADGATE_TOKEN", self.place.tokens[user])
        return CliRunner().invoke(app, list(words))

    def run(self, user: str, *words: str) -> str:
        """Return the output of a command, which must succeed."""
        done = self.invoke(user, *words)
        assert done.exit_code == 0, (done.output, done.exception)
        return done.output

    def data(self, user: str, *words: str) -> str:
        """Return the standard output of a command, which must succeed."""
        done = self.invoke(user, *words)
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout
