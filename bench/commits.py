"""Measures commits to a table with a large number of manifests: `python bench/commits.py`.

Prints the time of the first commit, which adds 200 manifests, of appends of one manifest, and of an overwrite
that replaces all manifests, each as one request to the REST catalog. If the table does not have the last snapshot then,
the run ends with status 1. Options: `--quick` is a short test run, and each size has an option. See docs/benchmarks.md.
"""

import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.options import chosen_sizes
from tests.lake.catalog_harness import CatalogHarness, served

COLUMNS = range(1, 11)
IO = PyArrowFileIO()


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes of the measurement; each is an option of the command line."""

    files: int = 1
    """Files in each manifest."""
    manifests: int = 200
    """Manifests of the first commit."""
    appends: int = 30
    """Appends of one manifest."""


QUICK = Effort(manifests=3, appends=2)


def main() -> int:
    """Commit to one table, and print the times; return the exit status."""
    effort, _ = chosen_sizes("bench/commits.py", __doc__, Effort(), QUICK)
    files, last = effort.files, effort.appends + 2
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as world:
        client = world.iceberg()
        client.create_namespace("raw")
        table = client.create_table("raw.t", Schema(*(NestedField(id, f"c{id}", LongType()) for id in COLUMNS)))
        manifests = [manifest(table, 1, files) for _ in range(effort.manifests)]
        first = commit(world, table, 1, manifests)
        appends: list[float] = []
        for snapshot in range(2, last):
            manifests.append(manifest(table, snapshot, files))
            appends.append(commit(world, table, snapshot, manifests))
        overwrite = commit(world, table, last, [manifest(table, last, files)], "overwrite")
        current = table.refresh().current_snapshot()
    print(f"{files} files in each manifest, milliseconds:")
    print(f"first commit of {effort.manifests} manifests {first:.0f}")
    print(f"append of one manifest: median {statistics.median(appends):.1f}, longest {max(appends):.1f}")
    print(f"overwrite of {effort.manifests + effort.appends} manifests {overwrite:.0f}")
    if current is None or current.snapshot_id != last:
        print(f"commits: the table has the snapshot {current}, and should have {last}", file=sys.stderr)
        return 1
    return 0


def manifest(table: Table, snapshot: int, files: int) -> ManifestFile:
    """Write a manifest with new files of a snapshot, which has its own number as sequence number."""
    path = f"{table.location()}/metadata/{uuid.uuid4()}.avro"
    with write_manifest(2, table.spec(), table.schema(), IO.new_output(path), snapshot, "deflate") as writer:
        for _ in range(files):
            writer.add_entry(entry(table, snapshot))
    written = writer.to_manifest_file()
    written.sequence_number = written.min_sequence_number = snapshot
    return written


def entry(table: Table, snapshot: int) -> ManifestEntry:
    """Return a new file with statistics of every column."""
    counts, bounds = {id: 100 + id for id in COLUMNS}, {id: bytes(8) for id in COLUMNS}
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{table.location()}/data/{uuid.uuid4()}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=2,
        file_size_in_bytes=900,
        column_sizes=counts,
        value_counts=counts,
        null_value_counts=counts,
        lower_bounds=bounds,
        upper_bounds=bounds,
    )
    file.spec_id = 0
    return ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=snapshot, data_file=file)


def commit(
    world: CatalogHarness, table: Table, snapshot: int, manifests: Sequence[ManifestFile], operation: str = "append"
) -> float:
    """Commit a snapshot after the one before it; return the milliseconds of the request."""
    parent = {"parent-snapshot-id": snapshot - 1} if snapshot > 1 else {}
    added: dict[str, Any] = {
        "snapshot-id": snapshot,
        "sequence-number": snapshot,
        "timestamp-ms": int(time.time() * 1000) + snapshot,
        "manifest-list": manifest_list(table, snapshot, manifests),
        "summary": {"operation": operation},
        **parent,
    }
    moved = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": snapshot}
    body = {"requirements": [], "updates": [{"action": "add-snapshot", "snapshot": added}, moved]}
    started = time.perf_counter()
    world.call("POST", "/namespaces/raw/tables/t", body).raise_for_status()
    return (time.perf_counter() - started) * 1000


def manifest_list(table: Table, snapshot: int, manifests: Iterable[ManifestFile]) -> str:
    """Write the manifest list of a snapshot; return its path."""
    path = f"{table.location()}/metadata/{uuid.uuid4()}.avro"
    with write_manifest_list(2, IO.new_output(path), snapshot, None, snapshot, "deflate") as writer:
        writer.add_manifests(list(manifests))
    return path


if __name__ == "__main__":
    sys.exit(main())
