"""Logins in a whole deployment: through every endpoint, and on every kind of store."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import httpx
import pytest

from headgate.control.authentication.device_flow import PendingReason
from headgate.control.authentication.errors import LoginError
from headgate.control.authentication.invitations import Withdraw
from headgate.control.authentication.services import AuthServices, open_auth_services
from headgate.control.authentication.sessions import NewSession, Session
from headgate.control.authentication.settings import AttemptLimit, Hashing, LoginSettings
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.deployment.break_glass import BreakGlass
from headgate.control.identity.principals import AddPrincipal
from headgate.control.kernel.errors import AlreadyExistsError, CallerGoneError, NotFoundError
from headgate.control.kernel.ports import DocumentConflictError
from headgate.control.organizations.organization import Organizations
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.store import SqlStores, open_stores
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.control.authentication.auth_services_harness import HOME, PASSWORD
from tests.threads import call_at_once

ACME = ResourceId("acme")
T = TypeVar("T")
SETTINGS = LoginSettings(
    device_interval=0.0, codes_of_address=AttemptLimit(1000, 60.0), hashing=Hashing(time=1, memory=8, lanes=1)
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("logins")) as world:
        yield world


@pytest.fixture(scope="module")
def zoe(world: DeploymentHarness) -> PrincipalId:
    id = world.deployment.auth_services.authentication.register("zoe", password=PASSWORD)
    world.control.execute(AddPrincipal(id, "zoe", "admin"), None)
    return id


class TestInADeployment:
    @pytest.fixture
    def browser(self, world: DeploymentHarness, zoe: PrincipalId) -> Iterator[httpx.Client]:
        with httpx.Client(base_url=world.http.base_url, trust_env=False, timeout=30) as browser:
            body = {"login": "zoe", "password": PASSWORD, "cookie": True}
            browser.headers["x-csrf-token"] = browser.post("/api/v1/login", json=body).json()["csrf"]
            yield browser

    def test_every_endpoint_accepts_a_session(self, world: DeploymentHarness, zoe: PrincipalId) -> None:
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

    def test_a_service_principal_exchanges_its_secret_for_an_access_token(self, world: DeploymentHarness) -> None:
        bot = world.program("the bot", "member")
        form = {"grant_type": "client_credentials", "client_id": bot, "client_secret": world.tokens["the bot"]}

        access = world.http.post("/oauth2/token", data=form).json()["access_token"]
        me = world.http.get("/api/v1/me", headers={"authorization": f"Bearer {access}"})
        assert me.json()["principal"] == bot

    def test_an_active_break_glass_is_announced_with_every_answer(self, world: DeploymentHarness) -> None:
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
            open_organizations(stores, time.time, "nekt")
            yield stores

    def test_one_of_several_concurrent_registrations_gets_a_login_name(self, stores: SqlStores) -> None:
        replicas = [_replica(stores)[0] for _ in range(4)]
        taken: list[bool] = []

        def register(ways: AuthServices) -> None:
            try:
                ways.authentication.register("ann", password=PASSWORD)
            except AlreadyExistsError:
                taken.append(True)

        racing = [threading.Thread(target=register, args=(each,)) for each in replicas]
        for each in racing:
            each.start()
        for each in racing:
            each.join()
        assert len(taken) == 3
        assert [each.login for each in replicas[0].authentication.users()] == ["ann"]

    def test_a_session_that_one_replica_ended_is_over_for_another(self, stores: SqlStores) -> None:
        one, (two, organizations) = _replica(stores)[0], _replica(stores)
        ann = one.authentication.register("ann", password=PASSWORD)
        organizations.refresh()
        started = two.authentication.log_in("ann", PASSWORD, HOME)
        assert two.authentication.principal_of(started.secret) == ann

        one.authentication.sessions.end(ann, started.session.id)
        organizations.refresh()
        assert two.authentication.principal_of(started.secret) is None

    def test_a_device_code_gives_one_session_to_many_that_redeem_it_at_once(self, stores: SqlStores) -> None:
        one, organizations = _replica(stores)
        one.authentication.register("ann", password=PASSWORD)
        session = one.authentication.log_in("ann", PASSWORD, HOME).session
        replicas = [_replica(stores)[0] for _ in range(4)]
        for _ in range(10):
            asked = one.devices.ask({}, time.time())
            one.devices.answer(asked.code, session, time.time(), allow=True)
            redeemed = call_at_once(partial(each.devices.redeem, asked.secret, time.time()) for each in replicas)

            assert sum(isinstance(each, NewSession) for each in redeemed) == 1
            assert [each for each in redeemed if not isinstance(each, NewSession)] == [PendingReason.OVER] * 3
        organizations.refresh()
        assert len(one.authentication.sessions.of(session.principal)) == 11

    def test_a_device_has_one_answer_of_many_that_are_given_at_once(self, stores: SqlStores) -> None:
        one, _ = _replica(stores)
        users = [one.authentication.register(name, password=PASSWORD) for name in ("ann", "ben", "eve", "mia")]
        sessions = [one.authentication.sessions.start(each, "password").session for each in users]
        for _ in range(5):
            asked = one.devices.ask({}, time.time())
            given = call_at_once(partial(_answer, stores, asked.code, each) for each in sessions)

            (answered,) = (each for each in given if each is not None)
            redeemed = one.devices.redeem(asked.secret, time.time())
            assert isinstance(redeemed, NewSession)
            assert redeemed.session.principal == answered

    def test_an_invitation_is_used_or_withdrawn_and_not_both(self, stores: SqlStores) -> None:
        organizations = open_organizations(stores, time.time, "nekt")
        owner = open_auth_services(organizations, SETTINGS).authentication.register("ann", password=PASSWORD)
        acme = create_organization(organizations, OrganizationSpec(ACME, "acme", owner, "ann", "nekt"))
        for number in range(6):
            ways = open_auth_services(organizations, SETTINGS)
            invite, secret = ways.invitations.draft(acme, Caller(owner), "member")
            acme.control.execute(invite, Caller(owner))
            names = (f"ben{number}", f"eve{number}")
            users = [ways.authentication.register(name, password=PASSWORD) for name in names]
            used = call_at_once(
                (
                    partial(_withdraw, stores, secret),
                    *(partial(_accept, stores, secret, each) for each in users),
                )
            )
            organizations.refresh()

            joined = [each for each in users if each in acme.control.snapshot.principals]
            assert used.count(True) == 1
            assert len(joined) == int(not used[0])

    def test_one_of_many_new_passwords_at_once_is_set_and_no_other_session_is_left(self, stores: SqlStores) -> None:
        one, organizations = _replica(stores)
        ann = one.authentication.register("ann", password=PASSWORD)
        organizations.refresh()
        replicas = [_replica(stores)[0] for _ in range(3)]
        sessions = [each.authentication.log_in("ann", PASSWORD, HOME).session for each in replicas]
        organizations.refresh()
        started = [partial(_log_in, each) for each in replicas]
        changed = [
            partial(_change, each, session, f"{number} is a new password")
            for number, (each, session) in enumerate(zip(replicas, sessions, strict=True))
        ]

        done = call_at_once((*changed, *started))
        organizations.refresh()

        assert done[:3].count(True) == 1
        assert [each.id for each in one.authentication.sessions.of(ann)] == [sessions[done.index(True)].id]
        assert len(organizations.deployment.store.documents("password")) == 1

    def test_a_secret_that_no_database_can_hold_is_unknown(self, stores: SqlStores) -> None:
        ways, _ = _replica(stores)
        for odd in ("\x00", "\ud800", "a\x00b", "'; drop table log; --"):
            for prefix in ("hgs", "hga", "hgi"):
                assert ways.authentication.principal_of(f"{prefix}.{odd}.{odd}") is None
                assert ways.access_tokens.authenticate(f"{prefix}.{odd}.{odd}") is None


def _answer(stores: SqlStores, code: str, session: Session) -> PrincipalId | None:
    try:
        _replica(stores)[0].devices.answer(code, session, time.time(), allow=True)
    except NotFoundError:
        return None
    return session.principal


def _accept(stores: SqlStores, secret: str, principal: PrincipalId) -> bool:
    ways = _replica(stores)[0]
    try:
        ways.invitations.accept(ways.invitations.find(secret), principal, principal)
    except NotFoundError:
        return False
    return True


def _withdraw(stores: SqlStores, secret: str) -> bool:
    ways, organizations = _replica(stores)
    try:
        invitation = ways.invitations.find(secret)
        organizations.open(ACME).control.execute(Withdraw(invitation), None)
    except (NotFoundError, DocumentConflictError):
        return False
    return True


def _change(ways: AuthServices, session: Session, new: str) -> bool:
    try:
        ways.authentication.change_password(session, PASSWORD, new, "192.0.2.1")
    except (AlreadyExistsError, LoginError, CallerGoneError):
        return False
    return True


def _log_in(ways: AuthServices) -> bool:
    with suppress(LoginError):
        ways.authentication.log_in("ann", PASSWORD, HOME)
    return False


def _replica(stores: SqlStores) -> tuple[AuthServices, Organizations]:
    """Return the authentication services of another process, which reads the logs itself."""
    organizations = open_organizations(stores, time.time, "nekt")
    return open_auth_services(organizations, SETTINGS), organizations
