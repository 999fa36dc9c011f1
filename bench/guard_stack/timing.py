"""Takes the time of the same work on both sides, in turn, in one run."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.guard_stack.figures import Pairs

Work = Callable[[], object]


class WrongAnswerError(Exception):
    """Spark says something else with Headgate in the way than without."""


def in_turn(name: str, without: Work, guarded: Work, rounds: int, warm_up: int = 0) -> Pairs:
    """Do both, one after the other, so that what else the machine does hits both alike; who is first takes turns.

    Both have to give the same, which is looked at once, before any time is taken.

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
    """Raise `WrongAnswerError` unless both are the same; a work that answers nothing is not compared."""
    if without != guarded:
        raise WrongAnswerError(f"`{name}` gives something else with Headgate: {guarded!r:.200}, not {without!r:.200}")


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python's collector out of the figures."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
