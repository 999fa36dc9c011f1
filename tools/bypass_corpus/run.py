"""Trying every case as everybody it must be tried as."""

from collections.abc import Callable, Sequence

from tools.bypass_corpus.cases import Case
from tools.bypass_corpus.judgement import Judged, askers, judge
from tools.bypass_corpus.stack import Attempts


def run(stack: Attempts, cases: Sequence[Case], watch: Callable[[int, Judged], None]) -> list[Judged]:
    """Return every case judged; `watch` hears each one with its number, from 1."""
    judged: list[Judged] = []
    for number, case in enumerate(cases, start=1):
        judged.append(judge(case, [stack.attempt(case, asker) for asker in askers(case)]))
        watch(number, judged[-1])
    return judged
