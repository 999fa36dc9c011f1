"""Instants: within a period that the engine states, no decision changes by the clock."""

from dataclasses import fields, is_dataclass
from math import inf
from typing import Any

import pytest

from headgate.decision.engine.engine import Engine
from headgate.decision.engine.instants import NO_PERIOD, Instants, Period
from headgate.decision.evaluator import Reference
from headgate.facts import changes, snapshot
from headgate.facts.changes import (
    AccessApproved,
    AccessRequested,
    Change,
    PrincipalExpires,
    RoleAssigned,
    RoleRevoked,
    TokenIssued,
)
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId, TokenId
from headgate.facts.snapshot import Snapshot
from tests.fakes import small_organization as small
from tests.fakes.small_organization import FLIGHTS, MEMBER, MODELS, OTHER, RAW, assigned

ACCESS = ResourceId("access")
DATED: tuple[tuple[Change, ...], ...] = (
    (assigned(MEMBER, "viewer", RAW, ends=100.0),),
    (RoleAssigned(MEMBER, "viewer", RAW, "nekt", None, starts=100.0),),
    (TokenIssued(TokenId("t"), MEMBER, 100.0),),
    (PrincipalExpires(MEMBER, 100.0),),
    (AccessRequested(ACCESS, FLIGHTS, MEMBER, OTHER), AccessApproved(ACCESS, 100.0, None)),
    (AccessRequested(ACCESS, FLIGHTS, MEMBER, OTHER), AccessApproved(ACCESS, 1.0, 100.0)),
)


@pytest.mark.parametrize("dated", DATED)
def test_a_period_ends_where_a_fact_begins_or_ends(dated: tuple[Change, ...]) -> None:
    loaded = Engine(MODELS, small.snapshot(*dated))
    before = Engine(MODELS, small.snapshot())
    changed = before.advance(dated, fold(before.facts, dated, 2))
    changed.add_instants(dated)

    for engine in (loaded, changed):
        assert engine.period_at(99.0).until == 100.0
        assert engine.period_at(100.0) == Period(100.0, inf)


def test_the_reference_knows_no_period_so_that_none_of_its_answers_is_kept() -> None:
    assert not Reference(MODELS, small.snapshot()).period_at(50.0).includes(50.0)


def test_a_snapshot_without_dates_has_one_period() -> None:
    assert Engine(MODELS, small.snapshot()).period_at(5.0) == Period(-inf, inf)


def test_changes_that_are_only_considered_add_no_instant() -> None:
    engine = Engine(MODELS, small.snapshot())
    dated = DATED[0]

    engine.advance(dated, fold(engine.facts, dated, 2))

    assert engine.period_at(5.0) == Period(-inf, inf)


def test_an_instant_of_a_removed_fact_only_shortens_the_period() -> None:
    engine = Engine(MODELS, small.snapshot(assigned(MEMBER, "viewer", RAW, ends=100.0)))
    revoked = (RoleRevoked(MEMBER, "viewer", RAW),)
    later = engine.advance(revoked, fold(engine.facts, revoked, 2))

    assert later.period_at(99.0).until in (100.0, inf)


def test_decisions_do_not_change_within_a_period() -> None:
    ends = (40.0, 20.0, 30.0)
    given = [assigned(each, "viewer", RAW, end) for each, end in zip((MEMBER, OTHER, small.ADMIN), ends, strict=True)]
    engine = Engine(MODELS, small.snapshot(*given))

    def decide(now: float) -> list[bool]:
        asked = (small.Question(small.Caller(each), "table.select", FLIGHTS) for each in (MEMBER, OTHER, small.ADMIN))
        return [engine.check(each, now).allowed for each in asked]

    for now in (0.0, 19.9, 20.0, 25.0, 30.0, 39.0, 40.0, 50.0):
        since, until = engine.period_at(now)
        inside = [max(since, 0.0), now, min(until - 0.001, 60.0)]
        assert len({tuple(decide(each)) for each in inside}) == 1


def test_a_large_snapshot_is_read_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.decision.engine.instants._AT_ONCE", 10)
    instants = Instants(small.snapshot(assigned(MEMBER, "viewer", RAW, ends=100.0)))
    instants.add([assigned(OTHER, "viewer", RAW, ends=50.0)])

    periods = [instants.period_at(1.0) for _ in range(20)]

    assert periods[0] == NO_PERIOD
    assert periods[-1] == Period(-inf, 50.0)
    assert instants.period_at(60.0) == Period(50.0, 100.0)


def test_instants_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.decision.engine.instants._MOST_PAST", 3)
    instants = Instants(small.snapshot())
    instants.add([assigned(OTHER, "viewer", RAW, ends=float(end)) for end in range(10, 60, 10)])

    assert instants.period_at(25.0) == Period(20.0, 30.0)
    assert instants.period_at(45.0) == Period(40.0, 50.0)
    assert instants.period_at(25.0) == NO_PERIOD  # the clock was set back
    assert instants.period_at(55.0) == Period(50.0, inf)


def test_every_time_in_changes_and_facts_is_named_like_those_that_are_read() -> None:
    """A new kind of time must be added to `instants.py`."""
    records = [each for each in vars(changes).values() if isinstance(each, type) and is_dataclass(each)]
    kept = [each for each in vars(snapshot).values() if isinstance(each, type) and is_dataclass(each)]

    assert {name for each in records for name in _times(each)} == {"starts", "ends"}
    assert {each.__name__: _times(each) for each in kept if _times(each)} == {
        "Principal": ["ends"],
        "Token": ["ends"],
        "Assignment": ["ends", "starts"],
        "Agreement": ["starts", "ends"],
    }
    assert not [name for name, kind in Snapshot.__annotations__.items() if "float" in str(kind)]


def _times(record: Any) -> list[str]:
    return [each.name for each in fields(record) if "float" in str(each.type)]
