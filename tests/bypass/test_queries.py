"""Every SQL case of the corpus as the SELECT of a pipeline that declares one table.

A user who holds everything runs the pipeline.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql.connect.session import SparkSession

from headgate.facts.ids import RunId
from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.kinds import query
from tools.bypass_corpus.cases import Case, load
from tools.bypass_corpus.stack import Stack

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

HERE = Path(__file__).parent
DECLARED, INTO = "lake.raw.airlines", "lake.trusted.out"
CASES = [case for case in load([HERE / "public.jsonl"]) if case.kind == "sql"]
MORE = [case for case in load([HERE / "more.jsonl"]) if case.kind == "sql"]
RUN = RunId("run-hostile")


@pytest.fixture(scope="module")
def session(stack: Stack) -> Iterator[SparkSession]:
    """Return the run's session, with the variable that some cases use."""
    opened = stack.begin_run(RUN, [DECLARED], INTO)
    opened.sql("DECLARE VARIABLE m DOUBLE")
    yield opened
    opened.stop()


def ran(session: SparkSession, case: Case, folder: Path) -> bool:
    """Run a query with this text as a run of its kind does; return whether it succeeded."""
    definition = query.QueryDefinition(
        kind="query", name="hostile", inputs=(DECLARED,), into=INTO, sql=case.statement, mode="append"
    )
    execution = RunExecution(
        spark=session,
        run=RUN,
        say=lambda _: None,
        metric=lambda *_: None,
        exists=lambda _: False,
        committed=lambda _: False,
        place=lambda name: pytest.fail(f"`{name}` was requested"),
        staging=folder,
        checkpoints=folder,
        incoming=folder,
        parquet=lambda *_: None,
        wait=lambda _: False,
    )
    try:
        assert query.KIND.run is not None
        query.KIND.run(definition, execution)
    except Exception:  # noqa: BLE001 (after any failure the test checks the effects)
        return False
    return True


def let_through(stack: Stack, session: SparkSession, cases: list[Case], folder: Path) -> list[str]:
    """Return the cases that accessed anything other than the declared table and target."""
    found: list[str] = []
    for case in cases:
        ended = ran(session, case, folder)
        changed = [each for each in stack.settle() if not (ended and _is_own(each))]
        read_more = ended and not {place for _, place in case.needs} <= {DECLARED}
        if changed or read_more:
            found.append(f"{case.id}: {case.statement} {changed}")
    return found


def test_a_query_of_its_declared_table_runs(stack: Stack, session: SparkSession, tmp_path: Path) -> None:
    """The cases of the tests below therefore fail because of the resources that they access."""
    honest = Case("", "sql", f"SELECT * FROM {DECLARED}", (("read", DECLARED),))

    assert ran(session, honest, tmp_path)
    assert stack.settle()


def test_a_query_of_the_public_corpus_accesses_only_its_declared_table(
    stack: Stack, session: SparkSession, tmp_path: Path
) -> None:
    assert len(CASES) > 150
    assert let_through(stack, session, CASES, tmp_path) == []


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_query_of_the_second_corpus_accesses_only_its_declared_table(
    stack: Stack, session: SparkSession, tmp_path: Path
) -> None:
    assert let_through(stack, session, MORE, tmp_path) == []


def _is_own(change: str) -> bool:
    """Return whether a change belongs to the query's own table: its pointer, its one entry in the log, or its files."""
    return re.fullmatch(rf"tables {re.escape(INTO)}|1 changes in the log|\d+ files, one of them .*", change) is not None
