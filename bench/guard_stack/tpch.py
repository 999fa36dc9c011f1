"""TPC-H: its tables from the generator on PyPI, and its 22 queries."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import load_catalog
from pyspark.sql.connect.session import SparkSession

from bench.guard_stack.effort import Effort
from bench.guard_stack.figures import share_at_most, whole
from bench.guard_stack.report import Outcome
from bench.guard_stack.served import Served
from bench.guard_stack.timing import in_turn

DATABASE = "tpch"
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
_GENERATOR = "tpchgen-cli"
_AT_ONCE = 1_500_000
"""Rows that are appended to a table in one commit."""
_QUERIES = Path(__file__).with_name("tpch.sql")


def queries() -> dict[int, str]:
    """Return the queries by their numbers."""
    parts = re.split(r"^-- (\d+)$", _QUERIES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {int(number): text.strip() for number, text in zip(parts[1::2], parts[2::2], strict=True)}


def generator() -> str | None:
    """Return the generator's path, if it is installed."""
    beside = Path(sys.executable).parent / _GENERATOR
    return str(beside) if beside.exists() else shutil.which(_GENERATOR)


def tpch(folder: Path, sides: Served, effort: Effort) -> Outcome:
    """Measure each query; its rows must be the same on both sides. Raises `LookupError` without the generator."""
    load(sides, folder, effort.scale)
    for session in (sides.plain, sides.guarded):
        session.sql(f"USE lake.{DATABASE}")
    pairs = [
        in_turn(
            f"TPC-H {number}, scale {effort.scale:g}",
            partial(_rows, sides.plain, text),
            partial(_rows, sides.guarded, text),
            effort.scans,
            effort.warm_scans,
        )
        for number, text in queries().items()
        if effort.first <= number <= effort.last
    ]
    total = whole(f"TPC-H, queries {effort.first} to {effort.last}, scale {effort.scale:g}", pairs)
    return Outcome([*pairs, total], [share_at_most(total, 3)])


def load(sides: Served, folder: Path, scale: float) -> None:
    """Generate the tables and write them to the lake as the owner."""
    program = generator()
    if program is None:
        raise LookupError(f"`{_GENERATOR}` is not installed (`make bench` installs it)")
    generated = folder / "generated"
    subprocess.run((program, "parquet", "-s", str(scale), f"--output-dir={generated}"), check=True)
    catalog = load_catalog("lake", type="rest", uri=f"{sides.url}/iceberg", token=sides.token)
    catalog.create_namespace(DATABASE)
    for name in TABLES:
        table = None
        for rows in _batches(generated / f"{name}.parquet"):
            table = table or catalog.create_table((DATABASE, name), rows.schema)
            table.append(rows)
    shutil.rmtree(generated)


def _batches(path: Path) -> Iterator[pa.Table]:
    """Yield a file in parts that fit into memory, with the types of Iceberg."""
    for batch in pq.ParquetFile(path).iter_batches(_AT_ONCE):
        table = pa.Table.from_batches([batch])
        fields = [pa.field(each.name, _type(each.type)) for each in table.schema]
        yield table.cast(pa.schema(fields))


def _type(type: pa.DataType) -> pa.DataType:
    return pa.string() if type == pa.string_view() else type


def _rows(session: SparkSession, text: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.sql(text).collect()]
