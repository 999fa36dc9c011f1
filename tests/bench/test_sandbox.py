"""The measurement of the sandbox works: a quick run measures every part with the sandbox and without it."""

import sys

import pytest

from bench.http_engines.postgres import Postgres
from headgate.spark.toolchain.prepare import Toolchain
from tests.bench.quick import run_quick

STATEMENTS = ["SELECT 1", "count of 1,000,000 rows of a table", "1,000 rows written to a table"]
RUNS = ["a run of a query", "a load of 1,000 rows from a database"]


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")
def test_a_quick_run_measures_starts_statements_runs_and_loads(toolchain: Toolchain) -> None:
    assert toolchain.guard_jar.exists()

    printed = run_quick("sandbox").splitlines()

    measured = [line.partition(":")[0] for line in printed if "in the sandbox" in line and "without" in line]
    skipped = [line for line in printed if line.startswith("runs and loads: skipped")]
    assert measured == ["start", *STATEMENTS, *([] if Postgres.missing() else RUNS)]
    assert bool(skipped) is bool(Postgres.missing())
