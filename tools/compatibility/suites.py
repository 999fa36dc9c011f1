"""The jobs of a comparison by part: queries, SQL tests, documentation and our own cases."""

import fnmatch
from collections.abc import Callable, Sequence
from typing import Final

from tools.compatibility.doc_examples import MODULES, case_jobs, module_jobs
from tools.compatibility.jobs import QUERY_FOLDERS, Job
from tools.compatibility.sql_inputs import SqlInputs

PARTS: Final = ("tpc", "sql", "cases", *MODULES)
"""The parts, of which `pandas` needs a pandas that PySpark supports."""


def jobs_of(parts: Sequence[str], inputs: SqlInputs, say: Callable[[str], None]) -> list[Job]:
    """Return the jobs of the parts."""
    jobs: list[Job] = []
    if "tpc" in parts:
        jobs += [each for folder in QUERY_FOLDERS for each in inputs.queries(folder)]
    if "sql" in parts:
        jobs += inputs.golden()
    if "cases" in parts:
        jobs += case_jobs()
    for part in MODULES:
        if part in parts:
            jobs += module_jobs(part, say)
    return [each for each in jobs if each.statements]


def matching(jobs: Sequence[Job], patterns: Sequence[str]) -> list[Job]:
    """Return the jobs whose names match one of the patterns, or all of them without a pattern."""
    return [job for job in jobs if not patterns or any(fnmatch.fnmatch(job.name, each) for each in patterns)]
