"""The fixture of FORMAT.md, made by an admin who runs no case, and restored after each that changed it."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, IcebergType, IntegerType, NestedField, StringType

from headgate.app.deployment import Deployment
from headgate.control.resources.commands import DeleteResource
from headgate.lake.containment import path_of
from tools.bypass_corpus.state import State, capture

DATABASES = ("lake.raw", "lake.secret", "lake.trusted")
_TYPES: dict[str, IcebergType] = {"string": StringType(), "int": IntegerType(), "double": DoubleType()}


@dataclass(frozen=True, slots=True)
class Made:
    """A table of the fixture: its columns (name and type), its rows, and what else it has."""

    columns: str
    rows: tuple[tuple[object, ...], ...]
    partition: int = 0
    """The field id of the column that it is partitioned by, if it is."""
    finish: Callable[[Table, int], object] = lambda _table, _snapshot: None


TABLES = {
    "lake.raw.flights": Made(
        "carrier string, flight int, dep_delay double, dest string, year int",
        (
            ("AA", 1, 12.0, "JFK", 2012),
            ("UA", 2, -3.0, "eve", 2012),
            ("AA", 3, 45.0, "LAX", 2013),
            ("DL", 4, None, "JFK", 2013),
        ),
        partition=5,
    ),
    "lake.raw.airlines": Made(
        "carrier string, name string",
        (("AA", "American Airlines"), ("UA", "United Air Lines"), ("DL", "Delta Air Lines")),
    ),
    "lake.trusted.delays": Made(
        "carrier string, avg_delay double",
        (("AA", 28.5), ("UA", -3.0), ("DL", None)),
        finish=lambda table, snapshot: table.manage_snapshots().create_branch(snapshot, "dev").commit(),
    ),
    "lake.secret.salaries": Made(
        "emp string, amount double",
        (("eve", 900.0), ("mallory", 600.0), ("trent", 100.0)),
        finish=lambda table, snapshot: (
            table.manage_snapshots().create_branch(snapshot, "audit").create_tag(snapshot, "eoy").commit()
        ),
    ),
}


VIEWS = {"lake.trusted.v": "CREATE VIEW lake.trusted.v AS SELECT carrier FROM lake.raw.flights"}
"""Only Spark makes these."""


class Fixture:
    """Makes the fixture, and keeps what it looked like."""

    def __init__(self, deployment: Deployment, url: str, token: str, run: Callable[[str], bool]) -> None:
        """`run` has Spark run a statement as the admin whose token this is, and says whether it did."""
        self._deployment = deployment
        self._run = run
        self._catalog: Catalog = load_catalog("lake", type="rest", uri=f"{url}/iceberg", token=token)
        self._made: State | None = None
        self.missing: tuple[str, ...] = ()

    def state(self) -> State:
        """Return the stack as it is now."""
        return capture(self._deployment, (self._deployment.settings.warehouse,))

    def folders(self) -> Mapping[Path, str]:
        """Return where each table's files lie, and its full name."""
        return {Path(_folder(pointer)): name for name, pointer in self.state().pointers.items()}

    def restore(self) -> State:
        """Make whatever is missing or not as it was made; returns the state then."""
        self._remove(self.state())
        for name in DATABASES:
            if name not in self.state().databases:
                self._catalog.create_namespace(_identifier(name))
        there = self.state().pointers
        for name in TABLES.keys() - there.keys():
            self._make(name, TABLES[name])
        self.missing = tuple(name for name, made in VIEWS.items() if name not in there and not self._run(made))
        self._clear()
        self._made = self.state()
        return self._made

    def remake(self, name: str) -> State:
        """Remove a table and make it again; returns the state then."""
        self._drop(name)
        return self.restore()

    def _remove(self, now: State) -> None:
        """Remove what is not as it was made: every table or view of another name or pointer, every database of another."""
        made = self._made.pointers if self._made else {}
        changed = [name for name, pointer in now.pointers.items() if made.get(name) != pointer]
        for name in (*changed, *sorted(now.databases.difference(DATABASES))):
            self._drop(name)

    def _drop(self, name: str) -> None:
        found = self._deployment.home.control.snapshot.find(name.split("."))
        if found is not None:
            self._deployment.home.control.execute(DeleteResource(found.id), None)

    def _clear(self) -> None:
        """Remove what lies in no table's folder: what a drop has yet to remove, and what a statement left when it failed."""
        live = {_folder(pointer) for pointer in self.state().pointers.values()}
        for folder in self._deployment.settings.warehouse.glob("*/*/*"):
            if str(folder) not in live:
                shutil.rmtree(folder, ignore_errors=True)

    def _make(self, name: str, made: Made) -> None:
        fields = [part.split() for part in made.columns.split(", ")]
        columns = (NestedField(id, column, _TYPES[type]) for id, (column, type) in enumerate(fields, start=1))
        spec = UNPARTITIONED_PARTITION_SPEC
        if made.partition:
            column = fields[made.partition - 1][0]
            spec = PartitionSpec(PartitionField(made.partition, 1000, IdentityTransform(), column))
        table = self._catalog.create_table(_identifier(name), Schema(*columns), partition_spec=spec)
        values = zip(*made.rows, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(values, table.schema().as_arrow(), strict=True)]
        table.append(pa.Table.from_arrays(arrays, schema=table.schema().as_arrow()))
        made.finish(table, table.snapshots()[-1].snapshot_id)


def _folder(pointer: str) -> str:
    return path_of(pointer).rpartition("/metadata/")[0]


def _identifier(name: str) -> str:
    """Return a full name as the REST catalog of the lake knows it."""
    return name.removeprefix("lake.")
