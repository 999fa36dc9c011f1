"""Measures the questions to one engine, and checks the answers."""

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
"""The measurements that are not named like their method."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The cost of loading: seconds, and the bytes by which the memory of the engine's process has grown."""

    seconds: float
    memory: int


class WrongAnswerError(Exception):
    """An engine and the oracle disagree."""


class Asking:
    """Asks an engine the cases of a sample. Answers with a known result are compared, also during the measurement."""

    def __init__(self, engine: Engine, sample: Sample) -> None:
        self._engine = engine
        self._memory_before = _memory(engine.process)
        self._sample = sample
        self._cases = {name: iter(cases) if name == _NEWCOMER else cycle(cases) for name, cases in sample.items()}

    def load(self, prepared: Any) -> Loaded:
        """Load the data that the engine prepared."""
        began = monotonic()
        self._engine.load(prepared)
        seconds = monotonic() - began
        del prepared
        gc.collect()
        return Loaded(seconds, _memory(self._engine.process) - self._memory_before)

    def compare(self, measured: str, seconds: float) -> int:
        """Ask cases with a known result until the time is over, at least one; return their number.

        Raises:
            WrongAnswerError: the engine and the oracle disagree.
        """
        if measured == _NEWCOMER:
            return 0  # a user of an earlier question is no longer new
        known = [case for case in self._sample[measured] if case.right is not None]
        return len(self._ask(measured, iter(known), seconds))

    def measure(self, measured: str, seconds: float) -> list[int]:
        """Ask cases until the time is over, at least one, and continue after the last ones; return the nanoseconds of each.

        Returns none if the engine has no such operation.

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
            raise WrongAnswerError(f"{self._engine.name}: {case.about} should be {case.right}, and is {answer}")
        if isinstance(case.right, frozenset) and (found := frozenset(answer)) != case.right:
            lacks, adds = sorted(case.right - found)[:3], sorted(found - case.right)[:3]
            raise WrongAnswerError(
                f"{self._engine.name}: the list for {case.about} lacks {lacks}, and wrongly has {adds}"
            )


def _memory(process: int) -> int:
    shown = subprocess.run(("ps", "-o", "rss=", "-p", str(process)), capture_output=True, text=True, check=True)  # noqa: S607
    return int(shown.stdout) * 1024
