"""Results of older source code: only those of jobs without a refusal and without a difference count again."""

from dataclasses import replace
from pathlib import Path

import pytest

from tools.compatibility.jobs import Job
from tools.compatibility.outcomes import Outcome, Result
from tools.compatibility.results import HEADGATE, PLAIN, Results, write_results
from tools.compatibility.reuse import count_reused, reuse_results

JOB = Job("subquery/a.sql", ("SELECT 1",))
OTHER = replace(JOB, name="subquery/b.sql")
ROWS = Outcome("rows", ms=3, schema="a int", count=1, digest="d", rows=("(1,)",))
REFUSED = Outcome("error", state="42501", message="the function `f` is refused")


@pytest.fixture
def older(tmp_path: Path) -> Results:
    return Results(tmp_path / "older", tmp_path / PLAIN)


@pytest.fixture
def results(older: Results, tmp_path: Path) -> Results:
    return replace(older, headgate=tmp_path / "new")


def measure(results: Results, job: Job, ours: Outcome) -> None:
    for side, outcome in ((HEADGATE, ours), (PLAIN, ROWS)):
        write_results(results.file(side, job), [Result("SELECT 1", "statement", outcome)])


def test_a_job_with_equal_results_is_not_measured_again(older: Results, results: Results) -> None:
    measure(older, JOB, ROWS)

    reuse_results([JOB, OTHER], results, older.headgate)

    assert results.read(HEADGATE, JOB) == older.read(HEADGATE, JOB)
    assert not results.has(HEADGATE, OTHER)
    assert count_reused([JOB, OTHER], results) == 1


@pytest.mark.parametrize("ours", [REFUSED, replace(ROWS, digest="e", rows=("(2,)",))], ids=["refusal", "difference"])
def test_a_job_with_another_result_is_measured_again(older: Results, results: Results, ours: Outcome) -> None:
    measure(older, JOB, ours)

    reuse_results([JOB], results, older.headgate)

    assert not results.has(HEADGATE, JOB)
    assert count_reused([JOB], results) == 0


def test_a_new_result_is_kept(older: Results, results: Results) -> None:
    measure(older, JOB, ROWS)
    measure(results, JOB, REFUSED)

    reuse_results([JOB], results, older.headgate)

    assert results.read(HEADGATE, JOB) == [Result("SELECT 1", "statement", REFUSED)]
