"""The corpora on a real stack: no statement is let through, and no permitted statement is refused."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.soak import count
from tools.bypass_corpus.cases import FORBIDDEN, Case, load
from tools.bypass_corpus.report import closing, progress
from tools.bypass_corpus.run import Attempts, run
from tools.bypass_corpus.stack import Stack
from tools.bypass_corpus.verdicts import Asker, Attempt, Ending, Verdict

HERE = Path(__file__).parent
PIECES = {"public": ("public.jsonl", 0, 1), **{f"more-{each + 1}": ("more.jsonl", each, 3) for each in range(3)}}
"""Corpora in parts of a few minutes: a file, the first case of a part, and the distance between two of its cases."""


def one_of_each(cases: Sequence[Case]) -> list[Case]:
    """Return the first case of each combination of verbs, and of each reason for a forbidden statement."""
    found: dict[frozenset[str], Case] = {}
    for case in cases:
        kind = frozenset(place if verb == FORBIDDEN else verb for verb, place in case.needs)
        found.setdefault(kind, case)
    return list(found.values())


def hold(stack: Attempts, cases: Sequence[Case]) -> None:
    """Run the cases; fail with the report unless every verdict is exact."""
    judged = run(stack, cases, progress(len(cases), verbose=False))
    if any(each.verdict is not Verdict.EXACT for each in judged):
        pytest.fail("\n".join(closing(judged)), pytrace=False)


class RefusesEverything:
    def attempt(self, case: Case, asker: Asker) -> Attempt:
        return Attempt(asker, Ending.REFUSED)


def test_one_over_refused_case_fails_the_corpus() -> None:
    forbidden = [Case(str(number), "sql", "", ((FORBIDDEN, "code"),)) for number in range(99)]
    hold(RefusesEverything(), forbidden)

    with pytest.raises(pytest.fail.Exception, match="99 exact, 1 over-refused, 0 let through"):
        hold(RefusesEverything(), [*forbidden, Case("free", "sql", "SELECT 1", ())])


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_guard_decides_one_case_of_each_kind_exactly(stack: Stack) -> None:
    cases = one_of_each(load([HERE / "public.jsonl"]))

    assert len(cases) >= 40
    hold(stack, cases)


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(("name", "first", "step"), PIECES.values(), ids=PIECES)
def test_the_guard_decides_every_case_of_a_corpus_exactly(stack: Stack, name: str, first: int, step: int) -> None:
    cases = load([HERE / name])[first::step]
    hold(stack, cases)
    count(f"{name}: {len(cases)} exact, 0 over-refused, 0 let through")
