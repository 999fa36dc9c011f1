"""Results of an earlier version of Headgate: a job in which every statement came out the same need not run again after a change."""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from tools.compatibility.comparison import SAME
from tools.compatibility.jobs import Job
from tools.compatibility.results import HEADGATE, Results
from tools.compatibility.run import compared_results

_NAMES: Final = "reused.txt"
"""The file with the names of the jobs whose results were copied, in the folder of Headgate's results."""


def reuse_results(jobs: Iterable[Job], results: Results, older: Path) -> None:
    """Copy Headgate's results of each job that has none, and in which every statement was the same as on plain Spark."""
    before = replace(results, headgate=older)
    for job in jobs:
        if not results.has(HEADGATE, job) and before.has(HEADGATE, job) and _is_same(job, before):
            _copy(job, before, results)


def _copy(job: Job, before: Results, results: Results) -> None:
    results.headgate.mkdir(parents=True, exist_ok=True)
    for repeated in (False, True):
        if before.has(HEADGATE, job, repeated=repeated):
            shutil.copyfile(
                before.file(HEADGATE, job, repeated=repeated), results.file(HEADGATE, job, repeated=repeated)
            )
    with (results.headgate / _NAMES).open("a", encoding="utf-8") as names:
        names.write(f"{job.name}\n")


def count_reused(jobs: Iterable[Job], results: Results) -> int:
    """Return the number of the jobs whose results were copied."""
    file = results.headgate / _NAMES
    names = set(file.read_text(encoding="utf-8").splitlines()) if file.is_file() else set[str]()
    return sum(job.name in names for job in jobs)


def _is_same(job: Job, results: Results) -> bool:
    found = compared_results([job], results)
    return bool(found) and all(each.verdict in SAME for each in found)
