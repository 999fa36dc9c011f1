"""An approved device gets one session, and none if the approving session has ended."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from headgate.control.authentication.device_flow import DeviceFlow, PendingReason
from headgate.control.authentication.sessions import NewSession, Session
from headgate.facts.ids import PrincipalId
from tests.control.authentication.auth_services_harness import HOME, PASSWORD, Deployment

NEW = "another horse entirely"


class LetIn(NamedTuple):
    """A device that the user Ann has approved."""

    world: Deployment
    ann: PrincipalId
    session: Session
    devices: DeviceFlow
    secret: str


def let_in_by_ann() -> LetIn:
    world = Deployment()
    ann = world.user("ann")
    session = world.logins.log_in("ann", PASSWORD, HOME).session
    devices = DeviceFlow(world.store, world.logins.sessions, world.settings)
    asked = devices.ask({}, world.now)
    devices.answer(asked.code, session, world.now, allow=True)
    return LetIn(world, ann, session, devices, asked.secret)


def log_out(world: Deployment, session: Session) -> None:
    world.replica().sessions.end(session.principal, session.id)


def change_password_elsewhere(world: Deployment, session: Session) -> None:
    logins = world.replica()
    other = logins.sessions.start(session.principal, "password").session
    logins.change_password(other, PASSWORD, NEW, "192.0.2.1")


def set_password_as_the_operator(world: Deployment, _: Session) -> None:
    logins = world.replica()
    logins.set_password(logins.user_of("ann"), NEW)


ENDINGS = [log_out, change_password_elsewhere, set_password_as_the_operator]


@pytest.mark.parametrize("end", ENDINGS)
def test_a_device_cannot_log_in_after_the_session_that_approved_it_ended(
    end: Callable[[Deployment, Session], None],
) -> None:
    world, _, session, devices, secret = let_in_by_ann()

    end(world, session)

    assert devices.redeem(secret, world.now) is PendingReason.DENIED


@pytest.mark.parametrize("end", ENDINGS)
def test_a_device_cannot_log_in_while_the_session_that_approved_it_ends(
    end: Callable[[Deployment, Session], None],
) -> None:
    world, ann, session, devices, secret = let_in_by_ann()
    world.store.before_append = lambda: end(world, session)

    assert devices.redeem(secret, world.now) is PendingReason.DENIED
    assert "device" not in {each.how for each in world.replica().sessions.of(ann)}


@pytest.mark.parametrize("end", [change_password_elsewhere, set_password_as_the_operator])
def test_a_new_password_ends_the_sessions_of_devices_and_providers_too(
    end: Callable[[Deployment, Session], None],
) -> None:
    world, ann, session, devices, secret = let_in_by_ann()
    device = devices.redeem(secret, world.now)
    assert isinstance(device, NewSession)
    world.logins.sessions.start(ann, "oidc")

    end(world, session)
    world.control.catch_up()

    assert world.logins.principal_of(device.secret) is None
    assert "oidc" not in {each.how for each in world.logins.sessions.of(ann)}


def test_a_logout_ends_the_sessions_that_began_with_it_and_no_other() -> None:
    world, ann, session, devices, secret = let_in_by_ann()
    device = devices.redeem(secret, world.now)
    assert isinstance(device, NewSession)
    asked = devices.ask({}, world.now)
    devices.answer(asked.code, device.session, world.now, allow=True)
    assert isinstance(devices.redeem(asked.secret, world.now), NewSession)
    other = world.logins.sessions.start(ann, "password").session

    log_out(world, session)
    world.control.catch_up()

    assert [each.id for each in world.logins.sessions.of(ann)] == [other.id]


def test_a_logout_of_a_device_leaves_the_session_that_approved_it() -> None:
    world, ann, session, devices, secret = let_in_by_ann()
    device = devices.redeem(secret, world.now)
    assert isinstance(device, NewSession)

    log_out(world, device.session)
    world.control.catch_up()

    assert [each.id for each in world.logins.sessions.of(ann)] == [session.id]


def test_a_session_that_begins_while_a_password_is_set_ends_with_the_old_one() -> None:
    world = Deployment()
    ann = world.user("ann")
    other = world.replica()

    def begin() -> None:
        other.sessions.start(ann, "oidc")

    world.store.before_append = begin
    world.logins.set_password(world.logins.user_of("ann"), NEW)

    assert world.logins.sessions.of(ann) == ()


def test_a_password_and_the_end_of_its_sessions_are_one_entry_of_the_log() -> None:
    world = Deployment()
    ann = world.user("ann")
    world.logins.log_in("ann", PASSWORD, HOME)
    head = world.store.head().revision

    world.logins.set_password(world.logins.user_of("ann"), NEW)

    assert [each.command for each in world.store.entries(head)] == ["user.set_password"]
    assert world.logins.sessions.of(ann) == ()
