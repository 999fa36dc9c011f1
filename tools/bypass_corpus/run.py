"""Trying every case as everybody it must be tried as."""

from collections.abc import Callable, Sequence
from typing import Protocol

from tools.bypass_corpus.cases import Case
from tools.bypass_corpus.verdicts import Asker, Attempt, Judged, askers, judge


class Attempts(Protocol):
    """Whatever can try a case."""

    def attempt(self, case: Case, asker: Asker) -> Attempt:
        """Try the case as somebody and say what came of it."""
        ...


def run(stack: Attempts, cases: Sequence[Case], watch: Callable[[int, Judged], None]) -> list[Judged]:
    """Return every case judged; `watch` hears each one with its number, from 1."""
    judged: list[Judged] = []
    for number, case in enumerate(cases, start=1):
        judged.append(judge(case, [stack.attempt(case, asker) for asker in askers(case)]))
        watch(number, judged[-1])
    return judged
