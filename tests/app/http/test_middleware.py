"""The middleware around the endpoints uses the deployment: callers, decisions, and the state of the store."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from headgate.app.http.middleware import ServedApp, build_front
from headgate.control.identity.tokens import RevokeToken
from headgate.control.kernel.ports import StoreError
from headgate.endpoints.http.limits import Limits
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.endpoints.http.asgi_client import asks

FAR = ("192.0.2.7", 5)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("fronted")) as opened:
        opened.add("vic")
        yield opened


def front(world: DeploymentHarness, **limits: float) -> ServedApp:
    """Return the endpoints with the middleware of a server with these limits."""
    settings = replace(world.deployment.settings, limits=replace(Limits(), **limits))
    return build_front(world.app, replace(world.deployment, settings=settings), world.sparks.caller)


class TestARate:
    def test_a_token_and_a_session_of_one_caller_share_one_rate_limit(self, world: DeploymentHarness) -> None:
        here = asks(front(world, principal_rate=0.001, address_rate=0, burst_seconds=2000).app, client=FAR)
        handle = world.sessions.open(world.caller("vic"), "s-1")
        with_token, with_session = ({"authorization": f"Bearer {each}"} for each in (world.tokens["vic"], handle))

        first, second, third = (
            here("GET", "/api/v1/me", headers=each).status_code for each in (with_token, with_session, with_token)
        )

        assert (first, second == 429, third) == (200, False, 429)

    @pytest.mark.parametrize("secret", ["", "Bearer hgs_nobody", "Bearer hgt.no.body", "Bearer x", "Basic eDp5"])
    def test_an_unauthenticated_caller_is_limited_by_address(self, world: DeploymentHarness, secret: str) -> None:
        here = asks(front(world, principal_rate=0, address_rate=0.001, burst_seconds=1000).app, client=FAR)

        statuses = [here("GET", "/api/v1/me", headers={"authorization": secret}).status_code for _ in range(2)]

        assert statuses == [401, 429]

    def test_a_revoked_token_gets_the_rate_and_body_limits_of_an_unauthenticated_caller(
        self, world: DeploymentHarness
    ) -> None:
        here = asks(front(world, principal_rate=0, address_rate=0.001, burst_seconds=1000).app, client=FAR)
        world.add("gone")
        known = {"authorization": f"Bearer {world.tokens['gone']}"}
        large = json.dumps({"name": "x" * 70_000})
        assert here("POST", "/api/v1/databases", content=large, headers=known).status_code == 422

        token = world.caller("gone").token
        assert token is not None
        world.control.execute(RevokeToken(token), None)

        statuses = [here("POST", "/api/v1/databases", content=large, headers=known).status_code for _ in range(2)]
        assert statuses == [413, 429]


class TestTheMetrics:
    def test_the_metrics_count_decisions_appends_and_the_revision(self, world: DeploymentHarness) -> None:
        here = asks(front(world).app)
        question = {"action": "lake.create_database", "resource": "lake"}
        for who in ("owner", "vic"):
            here("POST", "/api/v1/questions", json=question, headers={"authorization": f"Bearer {world.tokens[who]}"})

        told = dict(line.rsplit(" ", 1) for line in here("GET", "/metrics").text.splitlines() if line[0] != "#")

        assert float(told['headgate_decisions_total{answer="allowed"}']) > 0
        assert float(told['headgate_decisions_total{answer="denied"}']) > 0
        assert float(told["headgate_appends_total"]) > 0
        revision = world.control.snapshot.revision
        assert float(told[f'headgate_revision{{organization="{world.opened.id}"}}']) == revision


class TestReadiness:
    def test_the_readiness_check_fails_while_the_store_is_unavailable(
        self, world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def gone() -> None:
            raise StoreError("the disk `/data` is gone")

        before = asks(front(world).app)("GET", "/readyz").status_code
        monkeypatch.setattr(world.deployment.stores, "check", gone)
        answer = asks(front(world).app)("GET", "/readyz")

        assert (before, answer.status_code, "/data" in answer.text) == (200, 503, False)
