"""Kept responses: of the newest snapshot only, and within the period in which they are valid."""

import gc
from weakref import ref

from headgate.decision.engine.engine import Engine
from headgate.endpoints.authzen.endpoints import Response
from headgate.endpoints.authzen.kept_responses import KeptResponses
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from tests.fakes.small_organization import FLIGHTS, MEMBER, MODELS, assigned, snapshot

ACME, OTHER = ResourceId("acme"), ResourceId("other")
ANSWER = Response(200, "application/json", b"{}")


def _engine() -> Engine:
    return Engine(MODELS, snapshot(assigned(MEMBER, "viewer", FLIGHTS, ends=100.0)))


def test_a_response_is_found_for_the_same_request_on_the_same_answers() -> None:
    engine, kept = _engine(), KeptResponses()
    kept.keep(ACME, engine, "request", 7, engine.period_at(50.0), ANSWER)

    assert kept.find(ACME, engine, "request", 60.0) is ANSWER
    assert kept.find(ACME, engine, "other", 60.0) is None
    assert kept.find(OTHER, engine, "request", 60.0) is None
    assert kept.find(ACME, _engine(), "request", 60.0) is None


def test_a_response_is_found_only_until_a_fact_ends() -> None:
    engine, kept = _engine(), KeptResponses()
    kept.keep(ACME, engine, "request", 7, engine.period_at(50.0), ANSWER)

    assert kept.find(ACME, engine, "request", 99.9) is ANSWER
    assert kept.find(ACME, engine, "request", 100.0) is None
    kept.keep(ACME, engine, "request", 7, engine.period_at(100.0), ANSWER)
    assert kept.find(ACME, engine, "request", 99.9) is None  # the clock was set back


def test_a_change_of_the_facts_ends_every_response() -> None:
    engine, kept = _engine(), KeptResponses()
    kept.keep(ACME, engine, "request", 7, engine.period_at(50.0), ANSWER)
    later = engine.advance((), fold(engine.facts, (), 2))

    assert kept.find(ACME, later, "request", 60.0) is None
    kept.keep(ACME, later, "request", 7, later.period_at(60.0), ANSWER)
    assert kept.find(ACME, engine, "request", 60.0) is None


def test_kept_responses_do_not_keep_an_old_engine_alive() -> None:
    engine, kept = _engine(), KeptResponses()
    kept.keep(ACME, engine, "request", 7, engine.period_at(50.0), ANSWER)
    known = ref(engine)

    del engine
    gc.collect()

    assert known() is None


def test_kept_responses_have_a_maximum_size() -> None:
    engine, kept = _engine(), KeptResponses(most=5_000)

    for number in range(3):
        kept.keep(ACME, engine, number, 8, engine.period_at(50.0), ANSWER)

    assert [kept.find(ACME, engine, number, 50.0) is ANSWER for number in range(3)] == [False, False, True]
