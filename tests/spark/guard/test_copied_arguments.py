"""Nested calls: no function of Spark makes a short statement slow to analyze or to optimize."""

import re
import time

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from tests.spark.guard.driver_harness import ADMIN, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

TOO_COMPLEX = "54001"
LEVELS = 30
SECONDS = 10.0
"""Seconds that a statement of a few hundred words may take on a busy machine."""
COPYING = {"nullif": ["id", "1"], "nullifzero": ["id"], "between": ["id", "1", "2"]}
EXAMPLE = re.compile(r"> SELECT (\w+)\((.*)\);")
OPENING, CLOSING = "([{", ")]}"


@pytest.fixture
def lake(strained_lake: DriverHarness) -> DriverHarness:
    return strained_lake


def arguments(text: str) -> list[str]:
    """Split the arguments of a call at the commas outside of brackets and quotations."""
    parts, depth, quote = [""], 0, ""
    for sign in text:
        quote = "" if sign == quote else quote or (sign if sign in "'\"" else "")
        depth += 0 if quote else (sign in OPENING) - (sign in CLOSING)
        if sign == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def example(spark: SparkSession, name: str) -> list[str] | None:
    """Return the arguments of the function's example call in Spark's documentation."""
    described = "\n".join(row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect())
    found = next((each for each in EXAMPLE.finditer(described) if each[1] == name), None)
    return arguments(found[2]) if found else None


def nested(name: str, given: list[str], position: int) -> str:
    """Return nested calls of the function, each inside a condition that may skip it."""
    text = given[position]
    for _ in range(LEVELS):
        call = f"{name}({', '.join([*given[:position], text, *given[position + 1 :]])})"
        text = f"if(CASE WHEN id = 1 THEN ({call}) IS NULL ELSE true END, {given[position]}, {given[position]})"
    return f"SELECT {text} AS x FROM range(1)"


def outcome(spark: SparkSession, statement: str) -> tuple[str | None, float]:
    """Return the SQLSTATE of the statement's error, if it fails, and the seconds that it takes."""
    begun = time.monotonic()
    try:
        spark.sql(statement).collect()
    except PySparkException as error:
        return error.getSqlState(), time.monotonic() - begun
    return None, time.monotonic() - begun


@pytest.mark.parametrize("name", COPYING)
def test_calls_that_copy_an_argument_are_refused_before_they_grow(lake: DriverHarness, name: str) -> None:
    state, seconds = outcome(lake.session(ADMIN), nested(name, COPYING[name], 0))

    assert state == TOO_COMPLEX
    assert seconds < SECONDS


def test_a_few_calls_that_copy_an_argument_are_allowed(lake: DriverHarness) -> None:
    state, _ = outcome(lake.session(ADMIN), "SELECT nullif(nullif(nullif(nullif(id, 1), 2), 3), 4) FROM range(9)")

    assert state is None


@pytest.mark.soak
def test_nested_calls_of_every_function_are_fast(lake: DriverHarness) -> None:
    spark, slow, answered = lake.session(ADMIN), list[str](), 0
    for name in (row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()):
        given = example(spark, name) if name.isidentifier() else None
        for position in range(len(given or ())):
            state, seconds = outcome(spark, nested(name, given or [], position))
            answered += state is None
            if seconds > SECONDS:
                slow.append(f"{name}, argument {position}: {seconds:.1f} s, {state}")

    assert slow == []
    assert answered > 400
