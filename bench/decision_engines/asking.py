"""Asks one engine, takes the time and looks at the answers."""

import gc
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from time import monotonic, perf_counter_ns
from typing import Any

from .engine import ChangingEngine, Engine
from .sample import Case, Sample

_AT_MOST = 1_000
_NEWCOMER = "newcomer"
_METHODS = {_NEWCOMER: "table"}
"""What is not named like the method that asks it."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading took: seconds, and the bytes of memory by which the engine's process is larger afterwards."""

    seconds: float
    memory: int


class WrongAnswerError(Exception):
    """An engine says something else than the oracle."""


class Asking:
    """Asks an engine the cases of a sample. Every answer that was worked out is compared, also while the time is taken."""

    def __init__(self, engine: Engine, sample: Sample) -> None:
        self._engine = engine
        self._memory_before = _memory(engine.process)
        self._sample = sample
        self._cases = {name: iter(cases) if name == _NEWCOMER else cycle(cases) for name, cases in sample.items()}

    def load(self, prepared: Any) -> Loaded:
        """Load what the engine prepared."""
        began = monotonic()
        self._engine.load(prepared)
        seconds = monotonic() - began
        del prepared
        gc.collect()
        return Loaded(seconds, _memory(self._engine.process) - self._memory_before)

    def compare(self, measured: str, seconds: float) -> int:
        """Ask cases that were worked out until the time is over, one at least; return how many.

        Raises:
            WrongAnswerError: the engine and the oracle disagree.
        """
        if measured == _NEWCOMER:
            return 0  # who was asked about is new no more
        known = [case for case in self._sample[measured] if case.right is not None]
        return len(self._ask(measured, iter(known), seconds))

    def measure(self, measured: str, seconds: float) -> list[int]:
        """Ask cases until the time is over, one at least, going on after the last one; return the nanoseconds of each.

        There are none where the engine has no operation for it.

        Raises:
            WrongAnswerError: the engine and the oracle disagree.
        """
        return self._ask(measured, self._cases[measured], seconds)

    def _ask(self, measured: str, cases: Iterator[Case], seconds: float) -> list[int]:
        ask: Callable[[Any], Callable[[], Any]] | None = getattr(self._engine, _METHODS.get(measured, measured), None)
        taken: list[int] = []
        ends = monotonic() + seconds
        while ask and (not taken or monotonic() < ends) and len(taken) < _AT_MOST and (case := next(cases, None)):
            call = ask(case.about)
            began = perf_counter_ns()
            answer = call()
            taken.append(perf_counter_ns() - began)
            if measured == "revoke" and isinstance(self._engine, ChangingEngine):
                self._engine.restore(case.about)
            self._verify(case, answer)
        return taken

    def _verify(self, case: Case, answer: Any) -> None:
        if isinstance(case.right, bool) and answer is not case.right:
            raise WrongAnswerError(f"{self._engine.name}: {case.about} is {case.right}, not {answer}")
        if isinstance(case.right, frozenset) and (found := frozenset(answer)) != case.right:
            lacks, adds = sorted(case.right - found)[:3], sorted(found - case.right)[:3]
            raise WrongAnswerError(
                f"{self._engine.name}: the list for {case.about} lacks {lacks} and has {adds} besides"
            )


def _memory(process: int) -> int:
    shown = subprocess.run(("ps", "-o", "rss=", "-p", str(process)), capture_output=True, text=True, check=True)  # noqa: S607
    return int(shown.stdout) * 1024
