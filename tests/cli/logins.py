"""The endpoints of logins, for tests of the command line."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.endpoints.auth.auth_harness import AuthHarness
from tests.threads import served


@contextmanager
def serve_logins() -> Iterator[AuthHarness]:
    """Serve the endpoints of logins at the address `url` of the world that is given."""
    found = AuthHarness()
    found.now = time.time()
    with served(found.app) as url:
        found.url = url
        yield found
    found.audit.close()


def use_deployment(monkeypatch: pytest.MonkeyPatch, url: str, home: Path) -> None:
    """Have the command line call a deployment from an empty home, on a machine that is not the deployment's."""
    for name, value in {"HEADGATE_URL": url, "XDG_CONFIG_HOME": str(home), "NO_PROXY": "*"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HEADGATE_TOKEN", raising=False)
    monkeypatch.chdir(home)
