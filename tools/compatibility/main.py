"""The command line of the comparison; `docs/spark-compatibility.md` shows the results of the last recorded run."""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pyspark

from headgate.app.http.server import ServerError
from headgate.control.kernel.ports import StoreError
from headgate.spark.driver.driver import DriverError
from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.jars import ICEBERG
from headgate.spark.toolchain.prepare import default_cache, default_jars_folder, prepare
from tools.compatibility.classes import ClassError, load_classes
from tools.compatibility.jars import SPARK_TESTS, JarError, fetch_suite_jars
from tools.compatibility.jobs import Job, shard_of
from tools.compatibility.page import PAGE, page
from tools.compatibility.report import refused_lines, report
from tools.compatibility.results import HEADGATE, PLAIN, Results, results_in, source_digest
from tools.compatibility.reuse import count_reused, reuse_results
from tools.compatibility.run import ROOT, RunError, Servers, compared_results, run_jobs
from tools.compatibility.servers import headgate_side, plain_side
from tools.compatibility.sql_inputs import SqlInputs, read_sql_inputs
from tools.compatibility.suites import PARTS, jobs_of, matching
from tools.compatibility.summary import Summary, read_summary, summarize, write_summary
from tools.release import project_version

WORK: Final = ROOT / ".soak" / "compatibility"
LIMIT: Final = 20.0
"""The time limit of one statement in seconds."""
_SHARD: Final = re.compile(r"(\d+)/(\d+)")
_CANNOT_RUN: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if the run is acceptable, 1 if it has too many refusals or unread differences, 2 if it cannot run."""
    given = _parser().parse_args(arguments)
    try:
        return _compare(given)
    except (JarError, RunError, ClassError, ServerError, StoreError, DriverError, ToolchainError, OSError) as error:
        print(f"compatibility: {error}", file=sys.stderr)
        return _CANNOT_RUN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.compatibility", description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="default: %(default)s")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PATTERN", help="only jobs such as `subquery/*`; can be repeated"
    )
    parser.add_argument("--shard", type=_shard, default=(1, 1), metavar="K/N", help="only the K-th of N parts")
    parser.add_argument(
        "--work",
        type=Path,
        default=WORK,
        metavar="FOLDER",
        help="results, which a later run reuses; default: %(default)s",
    )
    parser.add_argument(
        "--plain-results", type=Path, metavar="FOLDER", help="results of plain Spark; default: in the work folder"
    )
    parser.add_argument(
        "--reuse",
        type=Path,
        metavar="FOLDER",
        help="Headgate's results of older source code; only jobs with a refusal or a difference run again",
    )
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of one statement; default: %(default)s")
    parser.add_argument("--refused", action="store_true", help="print a line for each refused statement")
    parser.add_argument("--compare-only", action="store_true", help="start no server; compare the results that exist")
    parser.add_argument("--record", action="store_true", help="write the summary and docs/spark-compatibility.md")
    return parser


def _shard(text: str) -> tuple[int, int]:
    found = _SHARD.fullmatch(text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"`{text}` is not a shard; write K/N, such as 1/12")
    return int(found[1]), int(found[2])


def _compare(given: argparse.Namespace) -> int:
    parts: list[str] = given.parts.split(",")
    if unknown := sorted(set(parts) - set(PARTS)):
        raise RunError(f"there is no part `{unknown[0]}`; choose of {', '.join(PARTS)}")
    tools = prepare(default_cache(os.environ), default_jars_folder(os.environ), _say)
    jars = fetch_suite_jars(tools.java, _say)
    inputs = read_sql_inputs(jars.tests)
    every_job = jobs_of(parts, inputs, _say)
    jobs = shard_of(matching(every_job, given.only), *given.shard)
    results = results_in(given.work.resolve(), given.plain_results and given.plain_results.resolve())
    _say(f"{len(jobs)} jobs with {sum(len(job.statements) for job in jobs)} statements; results in {given.work}")
    if given.reuse:
        reuse_results(jobs, results, given.reuse.resolve())
    if not given.compare_only:
        servers = Servers(partial(headgate_side, HEADGATE, _say), partial(plain_side, PLAIN, tools, jars), jars)
        run_jobs(jobs, results, servers, load_classes(), given.limit, _say)
    return _report(given, jobs, results, inputs, len(every_job))


def _report(given: argparse.Namespace, jobs: list[Job], results: Results, inputs: SqlInputs, all_jobs: int) -> int:
    classes, compared = load_classes(), compared_results(jobs, results)
    summary = summarize(compared, classes, measured_versions() | {"reused": str(count_reused(jobs, results))}, all_jobs)
    if given.refused:
        print("\n".join(refused_lines(compared, classes)))
    print("\n".join(report(summary, compared, classes, inputs.left_out())))
    if given.record:
        _record(summary)
    if missing := len(jobs) - summary.jobs:
        raise RunError(f"{missing} jobs have no results; run them without `--compare-only`")
    return 0 if summary.is_acceptable else 1


def _record(summary: Summary) -> None:
    write_summary(summary)
    PAGE.write_text(page(load_classes(), read_summary()), encoding="utf-8")
    _say(f"{PAGE} is written; commit it with the summary")


def measured_versions() -> dict[str, str]:
    """Return the versions of everything that a run measures."""
    asked = ("git", "describe", "--always", "--dirty", "--exclude", "*")
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return {
        "headgate": project_version(),
        "commit": commit or "unknown",
        "source": source_digest(),
        "spark": pyspark.__version__,
        "iceberg": ICEBERG.version,
        "suites": SPARK_TESTS.version,
        "day": time.strftime("%Y-%m-%d"),
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
