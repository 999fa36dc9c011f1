"""Outcomes of statements: rows without order, errors with their condition, and a time limit."""

import time
from collections.abc import Sequence
from typing import Any

from tools.compatibility.outcomes import Outcome, measure, rows_of, text_of


class Schema:
    def simpleString(self) -> str:  # noqa: N802 (Spark's name)
        return "struct<a:int>"


class Frame:
    def __init__(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self._rows = rows
        self.schema = Schema()

    def collect(self) -> Sequence[tuple[Any, ...]]:
        return self._rows


class SparkError(Exception):
    def getCondition(self) -> str:  # noqa: N802 (Spark's name)
        return "DIVIDE_BY_ZERO"

    def getSqlState(self) -> None:  # noqa: N802 (Spark's name)
        return None


def test_rows_in_another_order_are_equal_and_other_rows_are_not() -> None:
    assert rows_of(Frame([(1,), (2,)])) == rows_of(Frame([(2,), (1,)]))
    assert rows_of(Frame([(1,), (2,)])).digest != rows_of(Frame([(1,), (3,)])).digest


def test_all_rows_are_in_the_hash_even_if_few_are_kept() -> None:
    one, other = rows_of(Frame([(n,) for n in range(100)])), rows_of(Frame([(n,) for n in [*range(99), 1000]]))

    assert (one.count, len(one.rows)) == (100, 40)
    assert one.digest != other.digest


def test_an_error_has_the_condition_of_spark() -> None:
    def fail() -> Outcome:
        raise SparkError("[DIVIDE_BY_ZERO] x")

    found = measure(fail, 5)

    assert (found.kind, found.type, found.condition, found.state) == ("error", "SparkError", "DIVIDE_BY_ZERO", "")


def test_a_statement_that_takes_too_long_has_a_timeout() -> None:
    def wait() -> Outcome:
        time.sleep(10)
        return text_of("late", as_documented=False)

    found = measure(wait, 0.05)

    assert found.kind == "timeout"
    assert found.ms < 5000
