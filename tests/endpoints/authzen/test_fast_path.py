"""The fast path of AuthZEN gives the same answers as the normal path, and leaves all other requests to it."""

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from headgate.control.identity.tokens import RevokeToken
from headgate.control.kernel.audit_records import AuditFilter
from headgate.endpoints.http.fast_path import FastPathHandler, FastResponse
from headgate.facts.ids import TokenId
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.app.server_process import until
from tests.endpoints.authzen.authzen_client import JSON, asked

ONE, MANY = "/access/v1/evaluation", "/access/v1/evaluations"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("at-once")) as opened:
        opened.add("ann")
        yield opened


def at_once(
    world: DeploymentHarness, path: str, body: object, who: str = "owner", secret: str | None = None
) -> dict[str, Any] | None:
    """Return the answer of the fast path, or None."""
    handler: FastPathHandler = world.app.state.fast_path[path.encode()]
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def answer() -> FastResponse | None:
        headers = {b"content-type": JSON.encode()}
        return handler.answer(path.encode(), headers, content, secret or world.tokens[who], "request-1")

    ready = asyncio.run(answer())
    return None if ready is None else json.loads(ready.body)


def usual(world: DeploymentHarness, path: str, body: object, who: str = "owner") -> Any:
    """Return the answer over HTTP."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {world.tokens[who]}", "content-type": JSON}
    return world.http.post(path, content=content, headers=headers).json()


UNKNOWN = "hgt.t_1.unknown"


def own(world: DeploymentHarness, action: str, resource: str, who: str = "owner", **more: Any) -> dict[str, Any]:
    return asked(world.caller(who).principal, action, resource, **more)


class TestWhatIsAnsweredAtOnce:
    @pytest.mark.parametrize("who", ["owner", "ann"])
    @pytest.mark.parametrize("resource", ["lake.raw", "lake.nowhere"])
    def test_the_fast_path_gives_the_same_answer_as_the_normal_path(
        self, world: DeploymentHarness, who: str, resource: str
    ) -> None:
        questions = [own(world, action, resource, who) for action in ("database.describe", "database.edit", "no.such")]

        for path, body in ((ONE, questions[0]), (MANY, {"evaluations": questions})):
            expected = usual(world, path, body, who)
            assert at_once(world, path, body, who) == expected

    def test_a_denial_by_the_fast_path_is_recorded_in_the_audit(self, world: DeploymentHarness) -> None:
        usual(world, ONE, own(world, "database.describe", "lake.raw"))

        at_once(world, ONE, own(world, "database.edit", "lake.audited-here"))

        wanted = AuditFilter(request="request-1", action="database.edit", allowed=False)
        until(
            lambda: world.deployment.stores.audit_records(world.opened.id, wanted),
            lambda: "the audit record was not written",
        )


class TestWhatIsNotAnsweredAtOnce:
    @pytest.mark.parametrize(
        "body",
        [
            b"{",
            b"[]",
            b'{"subject": "\xff"}',
            {"subject": {"type": "user"}},
            {"context": {"explain": True}},
            {"context": {"as_of": 1}},
            {"context": {"at_least": 10**9}},
        ],
        ids=str,
    )
    def test_an_invalid_or_costly_evaluation_skips_the_fast_path(self, world: DeploymentHarness, body: Any) -> None:
        whole = {**own(world, "database.describe", "lake.raw"), **body} if isinstance(body, dict) else body
        usual(world, ONE, own(world, "database.describe", "lake.raw"))

        assert at_once(world, ONE, whole) is None

    @pytest.mark.parametrize("word", [b'"explain": true', b'"as_of": 1', b'"at_least": 1'], ids=str)
    def test_a_costly_context_with_an_escaped_key_skips_the_fast_path(
        self, world: DeploymentHarness, word: bytes
    ) -> None:
        usual(world, ONE, own(world, "database.describe", "lake.raw"))
        escaped = word.replace(b"a", b"\\u0061")
        body = json.dumps(own(world, "database.describe", "lake.raw", context={})).encode()

        assert at_once(world, ONE, body) is not None
        assert at_once(world, ONE, body.replace(b"{}", b"{%s}" % escaped)) is None

    def test_a_large_number_of_evaluations_skips_the_fast_path(self, world: DeploymentHarness) -> None:
        question = own(world, "database.describe", "lake.raw")
        usual(world, ONE, question)

        assert at_once(world, MANY, {"evaluations": [question] * 50}) is not None
        assert at_once(world, MANY, {"evaluations": [question] * 51}) is None
        assert at_once(world, MANY, {**question, "evaluations": [{}] * 201}) is None

    def test_a_large_body_skips_the_fast_path(self, world: DeploymentHarness) -> None:
        usual(world, ONE, own(world, "database.describe", "lake.raw"))

        assert at_once(world, ONE, own(world, "database.describe", "lake.raw", other="x" * 20_000)) is None

    def test_a_request_of_an_unknown_caller_skips_the_fast_path(self, world: DeploymentHarness) -> None:
        assert at_once(world, ONE, own(world, "database.describe", "lake.raw"), secret=UNKNOWN) is None

    def test_a_forbidden_question_about_another_user_skips_the_fast_path(self, world: DeploymentHarness) -> None:
        usual(world, ONE, own(world, "database.describe", "lake.raw", "ann"), "ann")

        assert at_once(world, ONE, own(world, "database.describe", "lake.raw"), "ann") is None

    def test_a_revoked_token_skips_the_fast_path(self, world: DeploymentHarness) -> None:
        principal = world.caller("owner").principal
        world.tokens["short"] = world.token(principal)
        body = own(world, "database.describe", "lake.raw")
        usual(world, ONE, body, "short")
        assert at_once(world, ONE, body, "short") is not None

        world.control.execute(RevokeToken(TokenId(world.tokens["short"].split(".")[1])), None)

        assert at_once(world, ONE, body, "short") is None


class TestARepeatedQuestion:
    def test_a_repeated_question_gets_the_same_response_and_each_denial_is_recorded(
        self, world: DeploymentHarness
    ) -> None:
        body = own(world, "database.edit", "lake.kept", "ann")
        usual(world, ONE, body, "ann")
        before = world.control.counts.denied

        answers = [at_once(world, ONE, body, "ann") for _ in range(3)]

        assert answers == [answers[0]] * 3
        assert answers[0] is not None
        assert answers[0]["decision"] is False
        assert world.control.counts.denied >= before + 3

    def test_a_revoke_is_obeyed_by_the_next_repetition(self, world: DeploymentHarness) -> None:
        assert world.call("owner", "POST", "/databases", {"name": "revoked"}).status_code == 201
        body = own(world, "database.describe", "lake.revoked", "ann")
        given = {"subject": "ann", "role": "viewer", "resource": "lake.revoked"}

        for _ in range(3):
            world.result("owner", "POST", "/assignments", given)
            assert [_decision(at_once(world, ONE, body, "ann")) for _ in range(2)] == [True, True]
            assert world.call("owner", "DELETE", "/assignments", **given).status_code == 200
            assert [_decision(at_once(world, ONE, body, "ann")) for _ in range(2)] == [False, False]

    def test_a_role_that_ends_by_the_clock_ends_for_a_repeated_question_too(self, world: DeploymentHarness) -> None:
        assert world.call("owner", "POST", "/databases", {"name": "dated"}).status_code == 201
        body = own(world, "database.describe", "lake.dated", "ann")
        ends = time.time() + 1.0
        world.result(
            "owner",
            "POST",
            "/assignments",
            {"subject": "ann", "role": "viewer", "resource": "lake.dated", "ends": ends},
        )
        revision = world.control.snapshot.revision
        assert _decision(at_once(world, ONE, body, "ann")) is True

        while time.time() < ends:
            at_once(world, ONE, body, "ann")
            time.sleep(0.05)

        assert _decision(at_once(world, ONE, body, "ann")) is False
        assert world.control.snapshot.revision == revision

    def test_callers_share_no_response(self, world: DeploymentHarness) -> None:
        body = own(world, "organization.read_audit", "organization", "owner")
        usual(world, ONE, body)

        assert _decision(at_once(world, ONE, body)) is True
        assert at_once(world, ONE, body, "ann") is None  # the normal path refuses a question about another user


def _decision(answer: dict[str, Any] | None) -> Any:
    assert answer is not None
    return answer["decision"]
