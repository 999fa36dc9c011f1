"""The fixture of FORMAT.md: an admin that attempts no case creates it, and restores it after each case that changed it."""

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
    """A table of the fixture: its columns (name and type), its rows, its partitioning and its refs."""

    columns: str
    rows: tuple[tuple[object, ...], ...]
    partition: int = 0
    """The field id of the partition column; 0 for none."""
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
"""The views of the fixture, which only Spark can create."""


class Fixture:
    """Creates the fixture, remembers its state, and restores it."""

    def __init__(self, deployment: Deployment, url: str, token: str, run: Callable[[str], bool]) -> None:
        """`run` executes a statement on Spark as the admin with this token, and returns whether it succeeded."""
        self._deployment = deployment
        self._run = run
        self._catalog: Catalog = load_catalog("lake", type="rest", uri=f"{url}/iceberg", token=token)
        self._made: State | None = None
        self.missing: tuple[str, ...] = ()

    def state(self) -> State:
        """Return the current state of the deployment."""
        return capture(self._deployment, (self._deployment.settings.warehouse,))

    def folders(self) -> Mapping[Path, str]:
        """Return the folder of each table -> its full name."""
        return {Path(_folder(pointer)): name for name, pointer in self.state().pointers.items()}

    def restore(self) -> State:
        """Create what is missing or was changed; return the state after that."""
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
        """Drop a table and create it again; return the state after that."""
        self._drop(name)
        return self.restore()

    def _remove(self, now: State) -> None:
        """Drop what differs from the fixture: each table or view with another name or pointer, each database with another name."""
        made = self._made.pointers if self._made else {}
        changed = [name for name, pointer in now.pointers.items() if made.get(name) != pointer]
        for name in (*changed, *sorted(now.databases.difference(DATABASES))):
            self._drop(name)

    def _drop(self, name: str) -> None:
        found = self._deployment.home.control.snapshot.find(name.split("."))
        if found is not None:
            self._deployment.home.control.execute(DeleteResource(found.id), None)

    def _clear(self) -> None:
        """Delete folders that belong to no table: those of dropped tables, and leftovers of failed statements."""
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
    """Return a full name in the form of the lake's REST catalog."""
    return name.removeprefix("lake.")
