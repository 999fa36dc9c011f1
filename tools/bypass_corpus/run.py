"""Attempts of every case, as every user that its verdict requires."""

from collections.abc import Callable, Sequence
from typing import Protocol

from tools.bypass_corpus.cases import Case
from tools.bypass_corpus.verdicts import Asker, Attempt, Judged, askers, judge


class Attempts(Protocol):
    """The port for attempts at cases."""

    def attempt(self, case: Case, asker: Asker) -> Attempt:
        """Attempt the case as `asker` and return the result."""
        ...


def run(stack: Attempts, cases: Sequence[Case], watch: Callable[[int, Judged], None]) -> list[Judged]:
    """Return the verdict on every case; `watch` is called with each one and its number, from 1."""
    judged: list[Judged] = []
    for number, case in enumerate(cases, start=1):
        judged.append(judge(case, [stack.attempt(case, asker) for asker in askers(case)]))
        watch(number, judged[-1])
    return judged
