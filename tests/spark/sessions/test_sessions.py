"""A session handle identifies one caller until the session is closed or idle."""

import pytest

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, TokenId
from headgate.spark.sessions.sessions import SparkSessions, TooManySessionsError

ANN = Caller(PrincipalId("ann"), TokenId("t1"))
BOB = Caller(PrincipalId("bob"))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_handle_is_opaque_and_identifies_its_caller() -> None:
    sessions = SparkSessions()

    handle = sessions.open(ANN, "s")

    assert handle.startswith("hgs_")
    assert len(handle) == len("hgs_") + 43
    assert handle != sessions.open(ANN, "s")
    assert sessions.caller(handle) == ANN
    assert sessions.caller("hgs_x") is None


def test_a_closed_handle_identifies_no_caller() -> None:
    sessions = SparkSessions()
    ann, bob = sessions.open(ANN, "s"), sessions.open(BOB, "s")

    sessions.close(ann)

    assert sessions.caller(ann) is None
    assert sessions.close_where(lambda caller: caller.principal == "bob") == 1
    assert sessions.caller(bob) is None


def test_an_unused_handle_expires_and_an_open_check_does_not_count_as_use() -> None:
    clock = Clock()
    sessions = SparkSessions(idle=10, clock=clock)
    used, looked_at = sessions.open(ANN, "s"), sessions.open(ANN, "t")

    for clock.now in (6.0, 12.0):
        assert sessions.caller(used) == ANN
        looked = sessions.is_open(looked_at)

    assert not looked
    assert len(sessions) == 1


def test_the_sessions_of_one_principal_and_of_all_principals_are_bounded() -> None:
    sessions = SparkSessions(limit=3, per_principal=2)
    sessions.open(ANN, "1")
    sessions.open(ANN, "2")

    with pytest.raises(TooManySessionsError):
        sessions.open(ANN, "3")
    sessions.open(BOB, "1")
    with pytest.raises(TooManySessionsError):
        sessions.open(BOB, "2")
