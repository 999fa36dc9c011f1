"""One statement of the unmodified client: through the gateway, in a large catalog, and with a large result."""

from functools import partial

import httpx
from pyspark.sql.connect.session import SparkSession

from bench.guard_stack.effort import Effort
from bench.guard_stack.figures import Pairs, adds_at_most, no_slower, rate_at_least
from bench.guard_stack.report import Outcome
from bench.guard_stack.served import Served
from bench.guard_stack.statements import DATABASE, SIMPLE
from bench.guard_stack.timing import in_turn

_NOISE = 0.05
"""The fraction by which the times of two equal statements differ."""
_COLUMNS = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}],
}


def end_to_end(sides: Served, effort: Effort) -> Outcome:
    """Measure a simple statement: directly on plain Spark, and through the gateway."""
    pairs = in_turn(
        "simple statement, end to end",
        partial(_rows, sides.plain),
        partial(_rows, sides.guarded),
        effort.rounds,
        effort.warm_rounds,
    )
    return Outcome([pairs], [adds_at_most(pairs, 5)])


def large_result(sides: Served, effort: Effort) -> Outcome:
    """Measure the rate of the rows of a large result, as Arrow."""
    pairs = in_turn(
        f"{effort.rows:,} rows of Arrow",
        partial(_arrow, sides.plain, effort.rows),
        partial(_arrow, sides.guarded, effort.rows),
        effort.scans,
        effort.warm_scans,
    )
    return Outcome([pairs], [rate_at_least(pairs, 73)])


def large_catalog(sides: Served, effort: Effort) -> Outcome:
    """Measure a statement on one table, and one on no table, before and after a large number of tables is in the catalog."""
    before = _by_catalog(sides, "catalog of few tables", effort)
    with sides.api() as client:
        for number in range(effort.tables):
            _make_table(client, f"t{number}")
    after = _by_catalog(sides, f"catalog of {effort.tables:,} tables", effort)
    return Outcome((before, after), [no_slower(before, after, _NOISE)], ("no table", "one table"))


def _by_catalog(sides: Served, name: str, effort: Effort) -> Pairs:
    return in_turn(
        name, partial(_nothing, sides.guarded), partial(_ran, sides.guarded), effort.rounds, effort.warm_rounds
    )


def _make_table(client: httpx.Client, name: str) -> None:
    made = client.post(f"/iceberg/v1/namespaces/{DATABASE}/tables", json={"name": name, "schema": _COLUMNS})
    made.raise_for_status()


def _rows(session: SparkSession) -> list[tuple[object, ...]]:
    return sorted(map(tuple, session.sql(SIMPLE).collect()))


def _arrow(session: SparkSession, rows: int) -> int:
    return session.range(rows).toArrow().num_rows


def _nothing(session: SparkSession) -> None:
    session.sql("SELECT 1 AS one").collect()


def _ran(session: SparkSession) -> None:
    session.sql(SIMPLE).collect()
