"""A fixed slice of the comparison of Spark behind Headgate with plain Spark; `make soak` runs the whole."""

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from headgate.app.server import Server
from headgate.spark.sql.client import connect
from headgate.spark.toolchain.prepare import Toolchain
from tests.conftest import IN_CI
from tools.compatibility.classes import load_classes
from tools.compatibility.doc_examples import case_jobs, divide, documents_of
from tools.compatibility.fixture_tables import databases_of, drop_databases
from tools.compatibility.jars import JarError, SuiteJars, fetch_suite_jars
from tools.compatibility.jobs import Job
from tools.compatibility.report import report
from tools.compatibility.results import HEADGATE, PLAIN, results_in
from tools.compatibility.run import Servers, compared_results, run_jobs
from tools.compatibility.servers import owner_side, plain_side
from tools.compatibility.sql_inputs import SqlInputs, read_sql_inputs
from tools.compatibility.suites import matching
from tools.compatibility.summary import summarize

SQL = ("cte-command.sql", "limit.sql", "struct.sql", "subquery/in-subquery/in-basic.sql", "variant/*")
MODULES = ("pyspark.sql.conf", "pyspark.sql.window")
CASES = ("cases/settings", "cases/catalog")
MOST_REFUSED = 32
"""The refusals of the slice that are left, with those in their wake; lower it when one of them is opened."""


@pytest.fixture(scope="module")
def jars(toolchain: Toolchain) -> SuiteJars:
    try:
        return fetch_suite_jars(toolchain.java, print)
    except JarError as error:
        if IN_CI:
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture
def jobs(server: Server, jars: SuiteJars) -> Iterator[list[Job]]:
    """Return the jobs of the slice, and drop their tables at the end."""
    found = slice_of(read_sql_inputs(jars.tests))
    yield found
    session = connect(server.gateway_port, server.settings.owner_token.read_text(encoding="utf-8").strip())
    drop_databases(session, databases_of(job.name for job in found))
    session.stop()


def slice_of(inputs: SqlInputs) -> list[Job]:
    return [
        *matching(inputs.golden(), SQL),
        *matching(case_jobs(), CASES),
        *(job for module in MODULES for job in divide(module, documents_of(module))),
    ]


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_slice_of_ordinary_spark_is_the_same_with_and_without_headgate(
    server: Server, toolchain: Toolchain, jars: SuiteJars, jobs: list[Job], tmp_path: Path
) -> None:
    results = results_in(tmp_path)
    guarded, plain = nullcontext(owner_side(HEADGATE, server)), partial(plain_side, PLAIN, toolchain, jars)

    classes = load_classes()

    run_jobs(jobs, results, Servers(lambda: guarded, plain, jars), classes, 60.0, print)

    compared = compared_results(jobs, results)
    summary = summarize(compared, classes, {}, len(jobs))
    assert summary.jobs == len(jobs)
    if summary.unread or summary.limited > MOST_REFUSED:
        pytest.fail("\n".join(report(summary, compared, classes, {})), pytrace=False)
