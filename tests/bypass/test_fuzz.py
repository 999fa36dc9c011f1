"""Statements composed from the corpus's parts: what the guard needs is what they name, and more is never opened."""

import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.bypass.composing import Statement, compose, grammar, shrink
from tests.bypass.opening import Opening
from tests.conftest import IN_CI
from tests.soak import count
from tools.bypass_corpus.cases import Case
from tools.bypass_corpus.judgement import Attempt, Ending, Verdict, askers, judge
from tools.bypass_corpus.stack import Stack

SEED = 6
_NAMES = re.compile(r"`[^`]*`|'[^']*'|\b\w+(?:\.\w+)+|\d+")
_SERVED = 0.8
"""The share of the statements that Spark has to answer, or little is tried."""


@pytest.fixture
def opening(stack: Stack) -> Iterator[Opening]:
    try:
        watched = Opening(stack.folders)
    except OSError as error:
        if IN_CI:
            raise
        pytest.skip(str(error))
    with watched:
        yield watched


class Fuzz:
    """Tries statements and remembers what came of them."""

    def __init__(self, stack: Stack, opening: Opening) -> None:
        self._stack = stack
        self._opening = opening
        self.endings: list[Ending] = []
        self.opened: set[str] = set()

    def wrong(self, statement: Statement) -> str:
        """Return how the guard is wrong about a statement; empty if it is right."""
        case = statement.case()
        attempts: list[Attempt] = []
        for asker in askers(case):
            self._opening.seen()
            attempts.append(self._stack.attempt(case, asker))
            opened = self._opening.seen()
            self.opened |= opened
            if more := sorted(opened - {table for _, table in asker.needs}):
                return f"{', '.join(more)} was opened with {asker}: {attempts[-1].message}"
        self.endings.append(attempts[-1].ending)
        judged = judge(case, attempts)
        return "" if judged.verdict is Verdict.EXACT else _told(judged.verdict, judged.decisive)

    def require(self, statements: Iterator[Statement]) -> None:
        """Try every statement; fail with what the guard is wrong about, by kind, each with its smallest form."""
        tried, kinds, first = 0, Counter[str](), dict[str, tuple[str, Statement]]()
        for statement in statements:
            tried += 1
            if wrong := self.wrong(statement):
                kinds[kind_of(wrong)] += 1
                first.setdefault(kind_of(wrong), (wrong, statement))
        endings = dict(Counter(each.value for each in self.endings))
        count(f"statement fuzzer: {tried} statements, {sum(kinds.values())} findings of {len(kinds)} kinds, {endings}")
        if kinds:
            pytest.fail("\n\n".join(self._described(count, *first[kind]) for kind, count in kinds.most_common()))
        assert self.opened == set(grammar().tables), "what is opened is not seen"
        assert self.endings.count(Ending.SERVED) >= _SERVED * len(self.endings), self.endings

    def _described(self, count: int, wrong: str, statement: Statement) -> str:
        kind = kind_of(wrong)
        least = shrink(statement, lambda each: kind_of(self.wrong(each)) == kind)
        return f"{count} times: {wrong}\n{_line(least.case())}"


def kind_of(wrong: str) -> str:
    """Return what is wrong without names and numbers: what differs in these only has one cause."""
    return _NAMES.sub("...", wrong)


def _told(verdict: Verdict, attempt: Attempt | None) -> str:
    return verdict.value if attempt is None else f"{verdict.value} with {attempt.asker}: {attempt.message}"


def _line(case: Case) -> str:
    stated = {
        "id": case.id,
        "kind": case.kind,
        "statement": case.statement,
        "needs": case.needs,
        "note": "found by fuzzing",
    }
    return json.dumps(stated)


def test_findings_that_differ_in_names_and_numbers_are_of_one_kind() -> None:
    assert kind_of("over-refused: `a` of lake.raw.t has 3 rows") == kind_of(
        "over-refused: `b` of lake.raw.u has 41 rows"
    )
    assert kind_of("over-refused: `a` is refused") != kind_of("let through: `a` is refused")


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_what_is_opened_is_needed_and_what_is_needed_is_missed(stack: Stack, opening: Opening) -> None:
    Fuzz(stack, opening).require(compose(SEED, 12))


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(1, 9))
def test_what_is_opened_is_needed_in_more_statements(stack: Stack, opening: Opening, seed: int) -> None:
    Fuzz(stack, opening).require(compose(100 + seed, 250, depth=4))
