"""The summary of a run: a difference without a verdict and too many refusals make it unacceptable."""

from dataclasses import replace
from pathlib import Path

import pytest

from tools.compatibility.classes import Classes, load_classes
from tools.compatibility.comparison import Compared, Verdict
from tools.compatibility.outcomes import Outcome
from tools.compatibility.report import refused_lines, report
from tools.compatibility.summary import Summary, read_summary, suite_of, summarize, write_summary

MEASURED = {
    "headgate": "1",
    "commit": "c",
    "source": "s",
    "spark": "4",
    "iceberg": "1",
    "suites": "4",
    "day": "2026-01-01",
}
ROWS, ERROR = Outcome("rows", schema="a int"), Outcome("error", message="x")
SAME = Compared("tpch/q1.sql", "SELECT 1", "statement", "", Verdict.SAME_ROWS, "", "", "", ROWS, ROWS)
WRONG = replace(SAME, verdict=Verdict.DIFFERENT_ROWS)
REFUSED = replace(
    SAME, verdict=Verdict.REFUSED, cause="the Spark operation `X` is refused", refused_statement="SELECT 1"
)
CODE = replace(REFUSED, cause="Headgate runs no code of users on Spark")
JAR = replace(
    REFUSED, job="a.sql", cause="the Spark operation `AddJarsCommand` is refused", refused_statement="ADD JAR x"
)
WAKE = replace(JAR, verdict=Verdict.IN_THE_WAKE)


@pytest.fixture(scope="module")
def classes() -> Classes:
    return load_classes()


def summary_of(classes: Classes, *compared: Compared) -> Summary:
    return summarize(compared, classes, MEASURED, 9)


def test_statements_are_counted_by_suite_class_and_limit(classes: Classes) -> None:
    found = summary_of(classes, SAME, SAME, REFUSED, CODE, JAR, WAKE)

    assert found.suites["TPC-H"] == {"refused": 2, "same rows": 2}
    assert (found.refused, found.wake) == (
        {"user code": 1, "jars, files and archives": 1},
        {"jars, files and archives": 1},
    )
    assert (found.apart, found.limited, found.without_class) == (1, 3, 1)
    assert [(each.name, each.count) for each in found.causes] == [("jars, files and archives", 2), ("", 1)]
    assert found.last_line == (
        "2 same, 3 refused or in the wake of a refusal (at most 200), 1 of user code and file paths, "
        "0 different with a verdict, 0 different without one"
    )


def test_a_run_without_unread_differences_and_with_few_refusals_is_acceptable(classes: Classes) -> None:
    assert summary_of(classes, SAME, *[REFUSED] * 200, *[CODE] * 500).is_acceptable


def test_one_refusal_above_the_limit_is_unacceptable(classes: Classes) -> None:
    assert not summary_of(classes, *[REFUSED] * 201).is_acceptable


def test_one_unread_difference_is_unacceptable_and_shown(classes: Classes) -> None:
    found = summary_of(classes, SAME, WRONG)

    assert not found.is_acceptable
    lines = report(found, [SAME, WRONG], classes, {"udf": 3})
    assert any("different rows: tpch/q1.sql" in line for line in lines)
    assert lines[-1].endswith("1 different without one")
    assert "left out: 3 statements in `udf/`" in lines


def test_a_summary_is_read_as_it_was_written(classes: Classes, tmp_path: Path) -> None:
    found = summary_of(classes, SAME, WRONG, REFUSED, CODE, replace(SAME, job="cases/writes", document="merge"))

    write_summary(found, tmp_path / "summary.json")

    assert read_summary(tmp_path / "summary.json") == found
    assert found.subjects == {"writes: merge": [1, 1, 0]}


def test_each_refused_statement_has_a_line_with_its_class_and_reason(classes: Classes) -> None:
    assert refused_lines([SAME, JAR, REFUSED], classes) == [
        "jars, files and archives\trefused\ta.sql\tSELECT 1\tthe Spark operation `AddJarsCommand` is refused",
        "without a class\trefused\ttpch/q1.sql\tSELECT 1\tthe Spark operation `X` is refused",
    ]


@pytest.mark.parametrize(
    ("job", "part", "suite"),
    [("tpcds-v2.7.0/q1.sql", "statement", "TPC-DS v2.7"), ("a.sql", "setting", "Spark's SQL tests: their settings"),
     ("subquery/a.sql", "statement", "Spark's SQL tests"), ("cases/writes", "example", "our own cases"),
     ("pyspark.ml.feature", "example", "PySpark's documentation: pyspark.ml")],
)  # fmt: skip
def test_a_statement_belongs_to_the_suite_of_its_job(job: str, part: str, suite: str) -> None:
    assert suite_of(replace(SAME, job=job, part=part)) == suite
