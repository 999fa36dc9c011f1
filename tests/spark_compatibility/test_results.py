"""Results in the work folder: what has been measured is not measured again, and what has changed is."""

from dataclasses import replace
from pathlib import Path

import pytest

from tools.compatibility.jobs import Job
from tools.compatibility.outcomes import Outcome, Result
from tools.compatibility.results import HEADGATE, PLAIN, Results, results_in, write_results

JOB = Job("subquery/a.sql", ("SET k = 1", "SELECT 1"))
ROWS = Outcome("rows", ms=3, schema="a int", count=1, digest="d", rows=("(1,)",))
REFUSED = Outcome("error", state="42501", message="the configuration key `k` cannot be changed by users")


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / HEADGATE, tmp_path / PLAIN)


def both(setting: Outcome) -> list[Result]:
    return [Result("SET k = 1", "setting", setting), Result("SELECT 1", "statement", ROWS)]


def test_results_are_read_as_they_were_written(results: Results) -> None:
    write_results(results.file(HEADGATE, JOB), both(REFUSED))

    assert results.read(HEADGATE, JOB) == both(REFUSED)
    assert results.read(HEADGATE, JOB, repeated=True) is None


def test_a_changed_job_has_no_results(results: Results) -> None:
    write_results(results.file(HEADGATE, JOB), both(ROWS))

    assert results.has(HEADGATE, JOB)
    assert not results.has(HEADGATE, replace(JOB, statements=("SELECT 2",)))


def test_plain_spark_has_no_identified_result_before_headgate(results: Results) -> None:
    write_results(results.file(PLAIN, JOB), both(ROWS))

    assert not results.has(PLAIN, JOB)
    assert results.may_have_plain(JOB)


def test_a_result_of_plain_spark_belongs_to_the_refused_settings(results: Results) -> None:
    write_results(results.file(HEADGATE, JOB), both(REFUSED))
    write_results(results.file(PLAIN, JOB, ["SET k = 1"]), both(ROWS))

    assert results.refused_settings(JOB) == ["SET k = 1"]
    assert results.has(PLAIN, JOB)

    write_results(results.file(HEADGATE, JOB), both(ROWS))
    assert not results.has(PLAIN, JOB)


def test_refused_settings_of_examples_are_not_reset(results: Results) -> None:
    job = replace(JOB, source="settings.pycon")
    write_results(results.file(HEADGATE, job), both(REFUSED))

    assert results.refused_settings(job) == []


def test_results_of_plain_spark_can_be_in_another_folder(tmp_path: Path) -> None:
    own, given = results_in(tmp_path / "work"), results_in(tmp_path / "work", tmp_path / "plain")

    assert own.headgate == given.headgate
    assert own.plain.parent == tmp_path / "work"
    assert given.plain == tmp_path / "plain" / own.plain.name
