"""Logins in a whole deployment: through every door, and on every kind of store."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from headgate.control.command import TakenError
from headgate.control.founding import begin_deployment
from headgate.control.logins.break_glass import BreakGlass
from headgate.control.logins.entrance import Entrance, open_entrance
from headgate.control.logins.settings import Hashing, LoginSettings
from headgate.control.organization import Organizations
from headgate.control.principals import AddPrincipal
from headgate.facts.ids import PrincipalId
from headgate.store import SqlStores, open_stores
from tests.app.world import World, world_in
from tests.control.logins.world import HOME, PASSWORD
from tests.control.worlds import MODELS

SETTINGS = LoginSettings(hashing=Hashing(time=1, memory=8, lanes=1))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in(tmp_path_factory.mktemp("logins")) as world:
        yield world


@pytest.fixture(scope="module")
def zoe(world: World) -> PrincipalId:
    id = world.deployment.entrance.logins.register("zoe", password=PASSWORD)
    world.control.execute(AddPrincipal(id, "zoe", "admin"), None)
    return id


class TestInADeployment:
    @pytest.fixture
    def browser(self, world: World, zoe: PrincipalId) -> Iterator[httpx.Client]:
        with httpx.Client(base_url=world.http.base_url, trust_env=False) as browser:
            body = {"login": "zoe", "password": PASSWORD, "cookie": True}
            browser.headers["x-csrf-token"] = browser.post("/api/v1/login", json=body).json()["csrf"]
            yield browser

    def test_a_session_is_taken_by_every_door(self, world: World, zoe: PrincipalId) -> None:
        session = world.http.post("/api/v1/login", json={"login": "zoe", "password": PASSWORD}).json()["session"]
        known = {"authorization": f"Bearer {session}"}

        assert world.http.get("/api/v1/me", headers=known).json()["principal"] == zoe
        assert world.http.get("/iceberg/v1/config", headers=known).status_code == 200
        question = {
            "subject": {"type": "user", "id": zoe},
            "action": {"name": "organization.add_user"},
            "resource": {"type": "organization", "id": world.opened.id},
        }
        assert world.http.post("/access/v1/evaluation", headers=known, json=question).json()["decision"] is True

    def test_a_cookie_writes_with_the_token_of_its_session_only(self, browser: httpx.Client) -> None:
        assert browser.post("/api/v1/groups", json={"name": "crew"}).status_code == 201
        del browser.headers["x-csrf-token"]
        assert browser.get("/api/v1/groups").status_code == 200
        assert browser.post("/api/v1/groups", json={"name": "other"}).status_code == 403

    def test_a_program_gets_a_token_for_an_hour(self, world: World) -> None:
        bot = world.program("the bot", "member")
        form = {"grant_type": "client_credentials", "client_id": bot, "client_secret": world.tokens["the bot"]}

        access = world.http.post("/oauth2/token", data=form).json()["access_token"]
        me = world.http.get("/api/v1/me", headers={"authorization": f"Bearer {access}"})
        assert me.json()["principal"] == bot

    def test_broken_glass_is_announced_with_every_answer_until_it_is_whole(self, world: World) -> None:
        before = world.call("owner", "GET", "/me")
        ends = time.time() + 3600
        world.control.execute(BreakGlass(PrincipalId("nobody-else"), "somebody", ends), None)

        after = world.call("owner", "GET", "/me")
        assert "headgate-break-glass" not in before.headers
        assert float(after.headers["headgate-break-glass"]) == pytest.approx(ends, abs=1)
        assert after.json()["break_glass"] == ends


class TestOnEveryStore:
    @pytest.fixture(params=["sqlite", "postgresql"])
    def where(self, request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
        return tmp_path if request.param == "sqlite" else request.getfixturevalue("postgres_url")

    @pytest.fixture
    def stores(self, where: str | Path) -> Iterator[SqlStores]:
        with closing(open_stores(where)) as stores:
            begin_deployment(Organizations(stores, MODELS, time.time), "nekt")
            yield stores

    def test_one_of_many_at_once_gets_a_login_name(self, stores: SqlStores) -> None:
        replicas = [_replica(stores)[0] for _ in range(4)]
        taken: list[bool] = []

        def register(ways: Entrance) -> None:
            try:
                ways.logins.register("ann", password=PASSWORD)
            except TakenError:
                taken.append(True)

        racing = [threading.Thread(target=register, args=(each,)) for each in replicas]
        for each in racing:
            each.start()
        for each in racing:
            each.join()
        assert len(taken) == 3
        assert [each.login for each in replicas[0].logins.users()] == ["ann"]

    def test_a_session_that_one_replica_ended_is_over_for_another(self, stores: SqlStores) -> None:
        one, (two, organizations) = _replica(stores)[0], _replica(stores)
        ann = one.logins.register("ann", password=PASSWORD)
        organizations.refresh()
        started = two.logins.log_in("ann", PASSWORD, HOME)
        assert two.logins.principal_of(started.secret) == ann

        one.logins.sessions.end(ann, started.session.id)
        organizations.refresh()
        assert two.logins.principal_of(started.secret) is None

    def test_what_no_database_can_hold_is_nobodys(self, stores: SqlStores) -> None:
        ways, _ = _replica(stores)
        for odd in ("\x00", "\ud800", "a\x00b", "'; drop table log; --"):
            for prefix in ("hgs", "hga", "hgi"):
                assert ways.logins.principal_of(f"{prefix}.{odd}.{odd}") is None
                assert ways.access_tokens.presented(f"{prefix}.{odd}.{odd}") is None


def _replica(stores: SqlStores) -> tuple[Entrance, Organizations]:
    """Return the ways in as another process has them: with what it has read of the logs itself."""
    organizations = Organizations(stores, MODELS, time.time)
    return open_entrance(organizations, SETTINGS), organizations
