"""A user that sends SQL over HTTP, and the environment of a shell that uses the same server."""

from typing import Any

import httpx

from headgate.app.server import Server
from tests.app.server_process import Serving


class Person:
    """A user with a token."""

    def __init__(self, server: Server | Serving, token: str) -> None:
        self.token = token
        self.http = httpx.Client(
            base_url=f"{server.url}/api/v1",
            headers={"authorization": f"Bearer {token}"},
            timeout=120,
            trust_env=False,
        )

    def sql(self, statement: str, accept: str = "*/*", **more: Any) -> httpx.Response:
        """Send a statement."""
        return self.http.post("/sql", json={"statement": statement, **more}, headers={"accept": accept})

    def rows(self, statement: str, **more: Any) -> list[list[Any]]:
        """Return the rows of a statement that must succeed."""
        answer = self.sql(statement, **more)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["rows"])


def variables(server: Server) -> dict[str, str]:
    """Return the environment variables with which a shell session uses a server."""
    known = {"HEADGATE_URL": server.url, "HEADGATE_DATA": str(server.settings.folder)}
    return known | {"SPARK": f"sc://localhost:{server.gateway_port}"}


def owner_of(server: Server) -> Person:
    """Return the owner of the organization."""
    return Person(server, server.settings.owner_token.read_text(encoding="utf-8").strip())


def add_viewer(server: Server | Serving, owner: Person, name: str, *databases: str) -> Person:
    """Add a user who reads the databases and can discover nothing else."""
    assert owner.http.post("/users", json={"name": name}).is_success
    for database in databases:
        role = {"subject": name, "role": "viewer", "resource": f"lake.{database}"}
        assert owner.http.post("/assignments", json=role).is_success
    return Person(server, owner.http.post("/tokens", json={"principal": name}).json()["token"])


def remote_of(server: Server, person: Person) -> str:
    """Return the address of Spark Connect with a person's token."""
    return f"sc://localhost:{server.gateway_port}/;token={person.token}"
