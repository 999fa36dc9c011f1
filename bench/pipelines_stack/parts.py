"""The parts: the overhead of a run for a small query and for a large load, and the time of an upsert by the size of its table."""

import shutil
import statistics
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.connect.functions import lit

from bench.guard_stack.figures import adds_at_most, share_at_most
from bench.guard_stack.report import Outcome
from bench.guard_stack.served import Served
from bench.guard_stack.timing import in_turn
from bench.guard_stack.tpch import generator
from bench.http_engines.figures import Aim
from bench.pipelines_stack.effort import Effort
from bench.pipelines_stack.runs import DATABASE, FILES, Runs

_SIDES = ("by hand", "as a run")
_SMALL = "SELECT id % 10 AS part, count(*) AS number FROM lake.{}.numbers GROUP BY ALL"
_GROWTH = 1.5
"""The largest ratio of an upsert into ten times the table to one of the same rows: above 1 for noise and metadata."""


def overhead(sides: Served, runs: Runs, _files: Path, effort: Effort) -> Outcome:
    """Measure a small query."""
    sides.guarded.sql(f"CREATE TABLE lake.{DATABASE}.numbers AS SELECT id FROM range(1000)")  # noqa: S608 (its own names)
    statement = _SMALL.format(DATABASE)
    sides.guarded.sql(f"CREATE TABLE lake.{DATABASE}.by_hand AS {statement}")
    into = f"lake.{DATABASE}.by_run"
    runs.save(
        {"kind": "query", "name": "small", "into": into, "inputs": [f"lake.{DATABASE}.numbers"], "sql": statement}
    )

    def by_hand() -> None:
        frame = sides.plain.sql(statement)
        frame.writeTo(f"lake.{DATABASE}.by_hand").overwrite(lit(True))  # noqa: FBT003 (the condition)

    pairs = in_turn("a small query", by_hand, partial(runs.run, "small"), effort.rounds, 2)
    return Outcome([pairs], [adds_at_most(pairs, 2000)], _SIDES)


def load(sides: Served, runs: Runs, files: Path, effort: Effort) -> Outcome:
    """Measure the load of lineitem in full. Raises `LookupError` without the generator."""
    file = _lineitem(files, effort.scale)
    by_hand_table, by_run_table = f"lake.{DATABASE}.lineitem_by_hand", f"lake.{DATABASE}.lineitem"
    stream = {"name": "lineitem", "file": file.name, "format": "parquet", "into": by_run_table}
    runs.save({"kind": "source", "name": "load", "connection": FILES, "streams": [stream]})
    sides.plain.read.parquet(str(file)).limit(0).writeTo(by_hand_table).create()

    def by_hand() -> None:
        frame = sides.plain.read.parquet(str(file))
        frame.writeTo(by_hand_table).overwrite(lit(True))  # noqa: FBT003 (the condition)

    rows = pq.ParquetFile(file).metadata.num_rows
    pairs = in_turn(f"{rows:,} rows of lineitem", by_hand, partial(runs.run, "load"), effort.loads)
    return Outcome([pairs], [share_at_most(pairs, 5)], _SIDES)


def upsert(sides: Served, runs: Runs, files: Path, effort: Effort) -> Outcome:
    """Measure an upsert of the same number of rows into a table and into one ten times as large."""
    tables = {name: effort.table * factor for name, factor in (("small", 1), ("large", 10))}
    work: dict[str, Callable[[], object]] = {}
    for name, rows in tables.items():
        into = f"lake.{DATABASE}.upserted_{name}"
        sides.guarded.sql(
            f"CREATE TABLE {into} AS SELECT id, id % 100 AS part, repeat('x', 50) AS words FROM range({rows}) "  # noqa: S608
            "ORDER BY id"
        )
        _changes(files / f"changes_{name}.parquet", effort.changed)
        stream = {"name": name, "file": f"changes_{name}.parquet", "format": "parquet", "into": into}
        runs.save(
            {
                "kind": "source",
                "name": f"upsert_{name}",
                "connection": FILES,
                "streams": [{**stream, "mode": "upsert", "key": ["id"]}],
            }
        )
        work[name] = partial(runs.run, f"upsert_{name}")
    pairs = in_turn(f"upsert of {effort.changed:,} rows", work["small"], work["large"], effort.rounds, 1)
    ratio = statistics.median(pairs.guarded) / statistics.median(pairs.without)
    aim = Aim("an upsert into ten times the table costs about the same", f"x {ratio:.2f}", ratio <= _GROWTH)
    return Outcome([pairs], [aim], (f"into {tables['small']:,} rows", f"into {tables['large']:,} rows"))


def _lineitem(files: Path, scale: float) -> Path:
    program = generator()
    if program is None:
        raise LookupError("`tpchgen-cli` is not installed (`make bench` installs it)")
    generated = files / "generated"
    command = (program, "parquet", "-s", str(scale), "--tables=lineitem", f"--output-dir={generated}")
    subprocess.run(command, check=True)
    found = (generated / "lineitem.parquet").rename(files / "lineitem.parquet")
    shutil.rmtree(generated)
    return found


def _changes(file: Path, count: int) -> None:
    ids = list(range(count))
    columns = {"id": ids, "part": [0 for _ in ids], "words": ["changed" for _ in ids]}
    pq.write_table(
        pa.table(columns, schema=pa.schema({"id": pa.int64(), "part": pa.int64(), "words": pa.string()})), file
    )


PARTS: dict[str, Callable[[Served, Runs, Path, Effort], Outcome]] = {
    "overhead": overhead,
    "load": load,
    "upsert": upsert,
}
