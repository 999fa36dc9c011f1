"""Fuzzing: statements composed from parts of the corpus need exactly the tables that they name, and open no others."""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.bypass.opened_files import Opening
from tests.bypass.statement_generator import Part, Statement, compose, grammar, shrink
from tests.conftest import IN_CI
from tests.soak import LOGS, count
from tools.bypass_corpus.cases import Case
from tools.bypass_corpus.stack import Stack
from tools.bypass_corpus.verdicts import Asker, Attempt, Ending, Verdict, askers, judge

SEED = 6
_NAMES = re.compile(r"`[^`]*`|'[^']*'|\b\w+(?:\.\w+)+|\d+")
_SERVED = 0.8
"""The share of the statements that Spark must answer; a lower share means that the fuzzer tested too little."""


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
    """Tries statements and records their results."""

    def __init__(self, stack: Stack, opening: Opening) -> None:
        self._stack = stack
        self._opening = opening
        self._before = frozenset[str]()
        self.endings: list[Ending] = []
        self.failed: list[str] = []
        self.opened: set[str] = set()

    def wrong(self, statement: Statement) -> str:
        """Return the fault of the guard for a statement; empty if there is none."""
        case = statement.case()
        before, self._before = self._before, statement.part.tables()
        attempts: list[Attempt] = []
        for asker in askers(case):
            attempt, more = self._try(case, asker)
            if more and more <= before:
                self._opening.wait_until_quiet()
                attempt, more = self._try(case, asker)
            if more:
                return f"{', '.join(sorted(more))} was opened with {asker}: {attempt.message}"
            attempts.append(attempt)
        self.endings.append(attempts[-1].ending)
        if attempts[-1].ending is Ending.FAILED:
            self.failed.append(f"{case.id}: {attempts[-1].message}")
        judged = judge(case, attempts)
        return "" if judged.verdict is Verdict.EXACT else _told(judged.verdict, judged.decisive)

    def _try(self, case: Case, asker: Asker) -> tuple[Attempt, frozenset[str]]:
        """Return the attempt, and the tables that were opened during it without need.

        The tables may belong to the previous statement: Spark answers an adaptive query once the rows read so far
        decide the answer, and the tasks that it no longer needs open their files up to half a second later.
        """
        self._opening.seen()
        attempt = self._stack.attempt(case, asker)
        opened = self._opening.seen()
        self.opened |= opened
        return attempt, opened - {table for _, table in asker.needs}

    def require(self, statements: Iterator[Statement]) -> None:
        """Try every statement; fail with the faults of the guard, by kind, each with its smallest statement."""
        tried, kinds, first = 0, Counter[str](), dict[str, tuple[str, Statement]]()
        for statement in statements:
            tried += 1
            logged, failed = self._stack.driver_log.stat().st_size, len(self.failed)
            if wrong := self.wrong(statement):
                kinds[kind_of(wrong)] += 1
                first.setdefault(kind_of(wrong), (wrong, statement))
            if wrong or len(self.failed) > failed:
                self._keep_log(statement, logged)
        endings = dict(Counter(each.value for each in self.endings))
        count(f"statement fuzzer: {tried} statements, {sum(kinds.values())} findings of {len(kinds)} kinds, {endings}")
        sys.stdout.writelines(f"failed with all that it needs: {each}\n" for each in self.failed)
        if kinds:
            pytest.fail("\n\n".join(self._described(count, *first[kind]) for kind, count in kinds.most_common()))
        assert self.opened == set(grammar().tables), "opened tables were not detected"
        assert self.endings.count(Ending.SERVED) >= _SERVED * len(self.endings), self.endings

    def _keep_log(self, statement: Statement, logged: int) -> None:
        """Store the driver's log of a statement: a fault that depends on timing leaves no other trace."""
        LOGS.mkdir(exist_ok=True)
        with self._stack.driver_log.open("rb") as log:
            log.seek(logged)
            (LOGS / f"{statement.id}.driver.log").write_bytes(log.read())

    def _described(self, count: int, wrong: str, statement: Statement) -> str:
        kind = kind_of(wrong)
        least = shrink(statement, lambda each: kind_of(self.wrong(each)) == kind)
        return f"{count} times: {wrong}\n{_line(least.case())}"


def kind_of(wrong: str) -> str:
    """Return the fault without names and numbers: faults that differ only in these have one cause."""
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


def test_findings_that_differ_in_names_and_numbers_only_are_of_one_kind() -> None:
    assert kind_of("over-refused: `a` of lake.raw.t has 3 rows") == kind_of(
        "over-refused: `b` of lake.raw.u has 41 rows"
    )
    assert kind_of("over-refused: `a` is refused") != kind_of("let through: `a` is refused")


class _Scripted:
    """A fake of the stack and of the watched files.

    Each attempt opens the next tables of the script, and writes a line to the log.
    """

    def __init__(self, *opened: set[str], driver_log: Path = Path(os.devnull)) -> None:
        self.driver_log = driver_log
        self._script = iter(opened)
        self._opened = frozenset[str]()

    def attempt(self, case: Case, asker: Asker) -> Attempt:
        self._opened = frozenset(next(self._script))
        with self.driver_log.open("a", encoding="utf-8") as log:
            log.write(f"{case.id} as {asker}\n")
        return Attempt(asker, Ending.REFUSED if asker.lacks else Ending.SERVED)

    def seen(self) -> frozenset[str]:
        seen, self._opened = self._opened, frozenset()
        return seen

    def wait_until_quiet(self) -> None:
        """Return at once: only an attempt opens files."""


def _found(before: str, table: str, *opened: set[str]) -> str:
    """Return the fault for a statement that names one table, after a statement that names another."""
    scripted = _Scripted(set(), {before}, *opened)
    fuzz = Fuzz(cast("Stack", scripted), cast("Opening", scripted))
    one, other = (Statement(name, "sql", Part("SELECT * FROM {t}", table=name)) for name in (before, table))
    assert fuzz.wrong(one) == ""
    return fuzz.wrong(other)


def test_files_that_tasks_of_the_previous_statement_open_late_are_no_finding() -> None:
    assert _found("lake.raw.a", "lake.raw.b", {"lake.raw.a"}, set(), {"lake.raw.a", "lake.raw.b"}, {"lake.raw.b"}) == ""


def test_a_table_that_is_opened_again_without_need_is_a_finding() -> None:
    assert "lake.raw.a was opened" in _found("lake.raw.a", "lake.raw.b", {"lake.raw.a"}, {"lake.raw.a"})


def test_a_table_that_neither_statement_names_is_a_finding_at_once() -> None:
    assert "lake.raw.c was opened" in _found("lake.raw.a", "lake.raw.b", {"lake.raw.c"})


def test_a_table_that_is_opened_without_its_right_is_a_finding() -> None:
    assert "lake.raw.b was opened" in _found("lake.raw.a", "lake.raw.b", {"lake.raw.b"})


def test_the_driver_log_of_a_finding_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.bypass.test_fuzz.LOGS", tmp_path / "kept")
    (tmp_path / "driver.log").write_text("before\n")
    right, wrong = (Statement(id, "sql", Part("SELECT * FROM {t}", table="lake.raw.a")) for id in ("right", "wrong"))
    scripted = _Scripted(set(), {"lake.raw.a"}, {"lake.raw.b"}, driver_log=tmp_path / "driver.log")

    with pytest.raises(pytest.fail.Exception, match=r"1 times: lake\.raw\.b was opened"):
        Fuzz(cast("Stack", scripted), cast("Opening", scripted)).require(iter((right, wrong)))

    (kept,) = (tmp_path / "kept").iterdir()
    assert (kept.name, kept.read_text()) == ("wrong.driver.log", "wrong as all but read lake.raw.a\n")


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_composed_statements_open_what_they_need_and_are_refused_without_it(stack: Stack, opening: Opening) -> None:
    Fuzz(stack, opening).require(compose(SEED, 12))


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_composed_statements_open_what_they_need_and_are_refused_without_it(
    stack: Stack, opening: Opening, seed: int
) -> None:
    Fuzz(stack, opening).require(compose(100 + seed, 250, depth=4))
