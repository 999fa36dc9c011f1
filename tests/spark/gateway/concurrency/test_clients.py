"""The concurrent clients detect leaks, lost data and errors."""

import time
from typing import Any

from tests.spark.gateway.concurrency.actions import Step
from tests.spark.gateway.concurrency.clients import ConcurrentClients, Seen
from tests.spark.gateway.concurrency.markers import Owner


class Session:
    """A session that does nothing."""

    def __init__(self, _person: str) -> None:
        self.client = self

    def range(self, _rows: int) -> "Session":
        return self

    def collect(self) -> list[Any]:
        return []

    def close(self) -> None:
        pass

    stop = close


def own(_spark: object, owner: Owner, _other: str) -> object:
    time.sleep(0.001)  # yields to the other threads, as a real step does
    return f"rows: {owner.mark}, {owner.row_mark}"


def of_anothers_session(_spark: object, owner: Owner, _other: str) -> object:
    return f"m4rk_{owner.person}_s99"


def of_another(_spark: object, owner: Owner, other: str) -> object:
    raise ValueError(Owner(other, owner.session).mark)


def broken(_spark: object, _owner: Owner, _other: str) -> object:
    time.sleep(0.001)
    raise ValueError("it is broken")


def work(*steps: Step) -> Seen:
    connect: Any = Session
    return ConcurrentClients(connect, ["p0", "p1"], 4, 1, steps).work(0.2)


def test_own_rows_and_errors_are_no_leak() -> None:
    seen = work(own)

    assert seen.steps.total() >= 4
    assert not seen.leaks
    assert not seen.errors


def test_rows_and_errors_of_other_sessions_are_leaks() -> None:
    assert work(of_anothers_session).leaks
    assert work(of_another).leaks


def test_an_unexpected_error_is_recorded() -> None:
    seen = work(broken)

    assert not seen.leaks
    assert "broken: it is broken" in seen.errors


def test_sessions_that_work_again_after_a_driver_outage_are_counted() -> None:
    connect: Any = Session
    crowd = ConcurrentClients(connect, ["p0", "p1"], 4, 1, (own, broken))
    crowd.disturbed.set()

    seen = crowd.work(3, crowd.back.set)

    assert seen.errors
    assert len(seen.recovered) == 4
