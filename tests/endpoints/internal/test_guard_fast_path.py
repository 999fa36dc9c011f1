"""The guard's fast path gives the answers of the normal path, and leaves refusals, runs and bad requests to it."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from headgate.endpoints.http.fast_path import FastPathHandler, FastResponse
from headgate.endpoints.internal.guard import DECIDE
from headgate.facts.ids import RunId
from headgate.spark.sessions.signature import sign
from tests.app.deployment_harness import KEY, DeploymentHarness, world_in

DESCRIBE = {"action": "database.describe", "object": ["lake", "raw"]}
CREATE = {"operation": "resource.create", "on": {"parent": ["lake", "raw"]}, "type": "table"}
READ_A_PATH = {"action": "path.read", "path": "file:/drop/a.csv"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("guard-fast-path")) as opened:
        opened.add("vic")
        yield opened


class Question:
    """A question of the driver for a session of a user."""

    def __init__(self, world: DeploymentHarness, *needs: Any, who: str = "owner", run: str = "", **more: Any) -> None:
        caller = world.caller(who)
        self._world = world
        self.handle = world.sessions.open(replace(caller, run=RunId(run)) if run else caller, "s")
        self.body = json.dumps({"needs": needs, **more}).encode()
        at = int(time.time())
        self.headers = {
            "authorization": f"Bearer {self.handle}",
            "x-headgate-time": str(at),
            "x-headgate-signature": sign(KEY, "POST", DECIDE, at, self.handle, self.body),
        }

    def at_once(self) -> Any:
        """Return the answer of the fast path, or None."""
        handler: FastPathHandler = self._world.app.state.fast_path[DECIDE.encode()]
        headers = {name.encode(): value.encode() for name, value in self.headers.items()}

        async def answer() -> FastResponse | None:
            return handler.answer(DECIDE.encode(), headers, self.body, self.handle, "request-1")

        found = asyncio.run(answer())
        return None if found is None else json.loads(found.body)

    def usual(self) -> Any:
        """Return the answer over HTTP."""
        return self._world.http.post(DECIDE, content=self.body, headers=self.headers).json()


@pytest.mark.parametrize("needs", [[], [DESCRIBE], [DESCRIBE, CREATE]], ids=["none", "one", "an operation"])
def test_the_fast_path_answers_as_the_normal_path(world: DeploymentHarness, needs: list[Any]) -> None:
    question = Question(world, *needs, operation="op")

    answer = question.at_once()

    assert answer["allowed"] is True
    assert answer == question.usual()


def test_the_fast_path_records_the_privileges_of_the_operation(world: DeploymentHarness) -> None:
    works = world.sparks.of(world.deployment.home).works
    before = len(works)

    assert Question(world, DESCRIBE, operation="recorded").at_once()

    assert len(works) == before + 1


@pytest.mark.parametrize(
    "question",
    [
        {"who": "vic"},
        {"run": "r1"},
        {"needs": [READ_A_PATH]},
        {"needs": [{"action": "database.describe"}]},
        {"unknown": 1},
    ],
    ids=["a refusal", "a run", "a path", "a malformed need", "an unknown field"],
)
def test_other_questions_take_the_normal_path(world: DeploymentHarness, question: dict[str, Any]) -> None:
    needs = question.pop("needs", [DESCRIBE])

    assert Question(world, *needs, **question).at_once() is None


@pytest.mark.parametrize("header", ["authorization", "x-headgate-time", "x-headgate-signature"])
def test_a_request_without_a_valid_signature_takes_the_normal_path(world: DeploymentHarness, header: str) -> None:
    question = Question(world, DESCRIBE)
    question.headers[header] = "1"

    assert question.at_once() is None


def test_the_fast_path_knows_the_principal_of_an_open_session(world: DeploymentHarness) -> None:
    handlers: dict[bytes, FastPathHandler] = world.app.state.fast_path
    question = Question(world, DESCRIBE)

    assert handlers[DECIDE.encode()].knows(question.handle) == world.caller("owner").principal
    assert handlers[DECIDE.encode()].knows("hgs_unknown") is None
    assert b"/guard/v1/connect" not in handlers
