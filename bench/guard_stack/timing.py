"""Measures the same work on both sides, in turn, in one run."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.guard_stack.figures import Pairs

Work = Callable[[], object]


class WrongAnswerError(Exception):
    """Spark returns other rows with Headgate than without."""


def in_turn(name: str, without: Work, guarded: Work, rounds: int, warm_up: int = 0) -> Pairs:
    """Do both, one after the other, so that other work of the machine affects both equally; the order alternates.

    Both must return the same, which is checked once before the measurement.

    Raises:
        WrongAnswerError: they do not.
    """
    require_same(name, without(), guarded())
    taken: dict[Work, list[float]] = {without: [], guarded: []}
    with _no_collection():
        for number in range(warm_up + rounds):
            for work in (without, guarded) if number % 2 else (guarded, without):
                began = time.perf_counter()
                work()
                taken[work].append(time.perf_counter() - began)
    print(f"measured: {name}", file=sys.stderr, flush=True)
    return Pairs(name, taken[without][warm_up:], taken[guarded][warm_up:])


def require_same(name: str, without: object, guarded: object) -> None:
    """Raise `WrongAnswerError` unless both results are equal; work without a result is not compared."""
    if without != guarded:
        raise WrongAnswerError(f"`{name}` returns {guarded!r:.200} with Headgate, and {without!r:.200} without it")


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable Python's garbage collector during the measurement."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
