"""How a run connects to the database that its pipeline declares: only the guard gets the address and secret, while it may."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headgate.control.connections.commands import JdbcAccess
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId, RunId
from headgate.spark.sessions.registry import OrganizationSpark
from headgate.spark.sessions.signature import sign
from tests.app.deployment_harness import KEY, DeploymentHarness, world_in
from tests.fakes.runs import begin, end

PASSWORD = "correct horse battery"  # noqa: S105 (a test secret)
SHOP = {"host": "::1", "database": "shop", "user": "headgate", "password": PASSWORD, "sslmode": "verify-full"}
RUN = RunId("run-1")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("database_access")) as opened:
        for name in ("shop", "other"):
            opened.call("owner", "POST", "/connections", {"name": name, "postgresql": SHOP}).raise_for_status()
        opened.call("owner", "POST", "/connections", {"name": "files", "folder": "/data"}).raise_for_status()
        yield opened


def started(world: DeploymentHarness, connection: str, run: RunId) -> Caller:
    name, streams = f"load-{connection}", [{"name": "orders", "table": "public.orders", "into": "lake.raw.orders"}]
    definition = {"kind": "source", "name": name, "connection": connection, "streams": streams}
    answer = world.call("owner", "PUT", f"/pipelines/{name}", definition)
    pipeline = ResourceId(answer.raise_for_status().json()["id"])
    begin(world.deployment.home.control, world.deployment.home.store, run, pipeline)
    return Caller(world.caller("owner").principal, run=run)


def asked(world: DeploymentHarness, caller: Caller, connection: str, key: bytes = KEY) -> Any:
    handle, at = world.sessions.open(caller, "s"), int(time.time())
    body = json.dumps({"connection": connection}).encode()
    headers = {
        "authorization": f"Bearer {handle}",
        "x-headgate-time": str(at),
        "x-headgate-signature": sign(key, "POST", "/guard/v1/connect", at, handle, body),
    }
    answer = world.http.post("/guard/v1/connect", content=body, headers=headers)
    return answer.json() if answer.status_code == 200 else answer.status_code


def test_the_guard_gets_the_database_access_that_a_pipeline_declares_during_its_run(world: DeploymentHarness) -> None:
    caller = started(world, "shop", RUN)
    told = asked(world, caller, "shop")

    assert told["url"] == "jdbc:postgresql://[::1]:5432/shop"
    assert told["properties"].items() >= {"user": "headgate", "password": PASSWORD, "sslmode": "verify-full"}.items()
    assert asked(world, caller, "shop", key=b"x" * 32) == 401
    for connection in ("other", "files", "no_such_one"):
        assert asked(world, caller, connection)["allowed"] is False
        assert PASSWORD not in json.dumps(asked(world, caller, connection))

    end(world.deployment.home.control, world.deployment.home.store, RUN)
    assert asked(world, caller, "shop")["allowed"] is False


def test_a_route_can_ask_again_while_the_run_lasts(world: DeploymentHarness) -> None:
    caller, home, asks = started(world, "shop", RunId("run-4")), world.deployment.home, list[Callable[[], bool]]()

    def route(_cluster: str, access: JdbcAccess, is_allowed: Callable[[], bool]) -> JdbcAccess:
        asks.append(is_allowed)
        return access

    OrganizationSpark(home, world.deployment.external_access_of(home), lambda: KEY, route=route).jdbc_access(
        caller, "shop"
    )

    assert [asks[0](), asks[0]()] == [True, True]
    end(world.deployment.home.control, world.deployment.home.store, RunId("run-4"))
    assert asks[0]() is False


def test_a_caller_outside_a_run_gets_no_database_access(world: DeploymentHarness) -> None:
    told = asked(world, world.caller("owner"), "shop")

    assert told["allowed"] is False
    assert "only in a run of a pipeline that declares it" in told["message"]


def test_a_connection_to_a_folder_gives_no_database_access(world: DeploymentHarness) -> None:
    told = asked(world, started(world, "files", RunId("run-2")), "files")

    assert told["allowed"] is False
    assert "not a database" in told["message"]


def test_a_missing_vault_key_is_reported(world: DeploymentHarness) -> None:
    key = world.deployment.settings.vault_key
    kept = key.read_text()
    key.unlink()
    try:
        told = asked(world, started(world, "other", RunId("run-3")), "other")
    finally:
        key.write_text(kept)

    assert told["allowed"] is False
    assert "restore it, or enter the secrets again" in told["message"]
