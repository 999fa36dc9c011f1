"""A deployment without Spark: every door but the driver's, on a store in a folder of the test's."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.doors import http_application
from headgate.app.settings import Settings
from headgate.facts.caller import Caller
from headgate.pipelines.runner import Runner
from headgate.spark.driver_calls import DriverCalls
from headgate.spark.sessions import Sessions
from headgate.spark.statements import Rows, StatementError
from tests.threads import served

KEY = b"k" * 32


class NoSpark:
    """Answers every statement as the real one does before Spark is up."""

    def run(self, token: str, statement: str, limit: int) -> Rows:
        """Refuse."""
        raise StatementError("Spark is starting; try again in a few seconds", None, "UNAVAILABLE")


class World:
    """The doors, and people who come through them."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.sessions = Sessions()
        calls = DriverCalls(lambda: KEY, self.sessions)
        self.app = http_application(deployment, calls, self.runner(), NoSpark(), lambda: {"api": "ok"})
        self.http = httpx.Client(trust_env=False)
        self.tokens = {"owner": deployment.settings.owner_token.read_text(encoding="utf-8").strip()}

    def runner(self) -> Runner:
        """Return a runner whose runs fail for want of Spark."""

        def connect(_: str) -> Any:
            raise StatementError("no Spark in this test", None, None)

        found = self.deployment
        return Runner(found.home, found.identity, found.places, connect)

    def call(self, who: str, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Return the answer to somebody's call."""
        headers = {"authorization": f"Bearer {self.tokens[who]}"}
        return self.http.request(method, f"/api/v1{path}", json=body, params=query, headers=headers)

    def add(self, name: str, role: str = "member") -> None:
        """Add somebody, with a token."""
        assert self.call("owner", "POST", "/people", {"name": name, "role": role}).status_code == 201
        self.tokens[name] = self.call("owner", "POST", "/tokens", {"person": name}).json()["token"]

    def give(self, name: str, role: str, resource: str, by: str = "owner") -> Any:
        """Assign a role."""
        return self.call(by, "POST", "/assignments", {"subject": name, "role": role, "resource": resource})

    def caller(self, name: str) -> Caller:
        """Return who somebody is to the core."""
        presented = self.deployment.identity.authenticate(self.tokens[name])
        found = self.deployment.home.caller(presented) if presented else None
        assert found is not None
        return found


def settings_in(folder: Path) -> Settings:
    """Return settings for a deployment in the folder, on free ports."""
    return Settings(folder / "data", folder / "cache", None, api_port=0, gateway_port=0)


@contextmanager
def world_in(folder: Path) -> Iterator[World]:
    """Open a deployment with the databases `raw` and `secret`."""
    deployment = open_deployment(settings_in(folder))
    try:
        world = World(deployment)
        with served(world.app) as address, world.http:
            world.http.base_url = httpx.URL(address)
            for name in ("raw", "secret"):
                assert world.call("owner", "POST", "/databases", {"name": name}).status_code == 201
            yield world
    finally:
        deployment.close()
