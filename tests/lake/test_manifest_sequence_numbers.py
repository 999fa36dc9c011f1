"""Sequence numbers of a snapshot: what Iceberg's library writes is accepted, and no row or delete is of the future."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import LongType, NestedField

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.manifest_sequence_numbers import check_sequence_numbers
from headgate.lake.manifests import ListedFile
from headgate.untrusted_input.manifest_answers import ManifestAnswer
from tests.lake.catalog_harness import CatalogHarness, served
from tests.lake.listed_files import ListedFiles, listed_file, listed_manifest

LAST = 5
"""The sequence number of the new snapshot."""


def _file(sequence: int | None, own: int | None = LAST, **more: Any) -> ListedFile:
    return listed_file("f", identity=(0, sequence, own, b"f"), **more)


def _existing(sequence: int | None, own: int | None) -> ListedFile:
    return _file(sequence, own, is_added=False)


def _manifest(lowest: int, own: int = LAST, path: str = "n") -> ManifestAnswer:
    return changed(listed_manifest(path), min_sequence_number=lowest, sequence_number=own)


@dataclass(frozen=True)
class Case:
    """The manifests of the new snapshot, and the files of the manifest `n`, which its parent does not have."""

    after: Sequence[ManifestAnswer]
    files: Sequence[ListedFile] = field(default_factory=list[ListedFile])


OLD = _manifest(1, 3, "m")
ACCEPTED: Mapping[str, Case] = {
    "an append": Case([_manifest(LAST), OLD], [_file(LAST)]),
    "manifests that are merged": Case([_manifest(1)], [_file(LAST), _existing(1, 3), _existing(3, 3)]),
    "compacted files with their starting number": Case([_manifest(2)], [_file(2)]),
    "a file of a table that was of version 1": Case([_manifest(0)], [_existing(0, 0), _file(LAST)]),
    "an existing file of an old writer": Case([_manifest(1)], [_existing(1, None)]),
    "a deleted file": Case([_manifest(LAST), OLD], [_file(1, 1, is_added=False, is_deleted=True)]),
    "a deleted file of an old writer": Case([_manifest(LAST)], [_file(None, None, is_added=False, is_deleted=True)]),
    "a manifest of another snapshot": Case([_manifest(2, 2)], [_file(2, 2)]),
}
REFUSED: Mapping[str, tuple[Case, str]] = {
    "a manifest of the future": (Case([_manifest(1, 6)], [_file(LAST)]), "not between 0 and 5"),
    "a manifest below 0": (Case([_manifest(-1, -1)]), "not between 0 and 5"),
    "a least number above the manifest's": (Case([_manifest(4, 3)]), "not between 0 and 5"),
    "a kept manifest with another number": (Case([changed(OLD, sequence_number=4)]), "in the parent snapshot"),
    "a kept manifest with another least number": (
        Case([changed(OLD, min_sequence_number=3)]),
        "in the parent snapshot",
    ),
    "a file of the future": (Case([_manifest(0)], [_file(6)]), "names a file with a sequence number that"),
    "a file written in the future": (Case([_manifest(0)], [_file(1, 6)]), "names a file with a sequence number that"),
    "a file below 0": (Case([_manifest(0)], [_file(-1)]), "names a file with a sequence number that"),
    "a deleted file of the future": (
        Case([_manifest(0)], [_file(6, 6, is_deleted=True)]),
        "names a file with a sequence number that",
    ),
    "an existing file without a number": (Case([_manifest(0)], [_existing(None, None)]), "an existing file without"),
    "a file below the manifest's least number": (Case([_manifest(3)], [_existing(2, 2)]), "below the manifest's"),
}


def _check(case: Case) -> None:
    files = ListedFiles({"list-1": [OLD], "list-2": case.after}, {"n": case.files})
    parent, child = (
        Snapshot(**{"snapshot-id": id, "sequence-number": number, "manifest-list": f"list-{id}"})
        for id, number in ((1, 3), (2, LAST))
    )
    check_sequence_numbers(files, child, files.manifests(parent))


@pytest.mark.parametrize("case", ACCEPTED.values(), ids=ACCEPTED)
def test_numbers_that_iceberg_writes_are_accepted(case: Case) -> None:
    _check(case)


@pytest.mark.parametrize(("case", "words"), REFUSED.values(), ids=REFUSED)
def test_numbers_that_hide_or_bring_back_rows_are_refused(case: Case, words: str) -> None:
    with pytest.raises(InvalidMetadataError, match=words):
        _check(case)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    with served(tmp_path_factory.mktemp("numbers")) as made:
        made.iceberg().create_namespace("raw")
        yield made


def _change_list(path: str, **said: Any) -> None:
    """Change fields of all manifests in a manifest list, like a user who can write to the storage."""
    file = Path(path.removeprefix("file://"))
    with file.open("rb") as stream:
        reader: Any = fastavro.reader(stream)
        schema, manifests = reader.writer_schema, list(reader)
    with file.open("wb") as stream:
        fastavro.writer(stream, schema, [{**each, **said} for each in manifests])


@pytest.mark.parametrize(("field", "status"), [("sequence_number", 400), ("partition_spec_id", 400), (None, 200)])
def test_a_registered_table_has_no_numbers_of_the_future_and_no_unknown_partition_spec(
    world: CatalogHarness, field: str | None, status: int
) -> None:
    name = f"registered_{field}"
    made = world.iceberg().create_table(f"raw.{name}", Schema(NestedField(1, "d", LongType())))
    made.append(pa.table({"d": [1, 2]}))
    metadata = world.metadata(name)
    path = world.call("GET", f"/namespaces/raw/tables/{name}").json()["metadata-location"]
    assert world.call("DELETE", f"/namespaces/raw/tables/{name}").status_code == 204
    if field is not None:
        _change_list(metadata["snapshots"][-1]["manifest-list"], **{field: 7})

    answer = world.call("POST", "/namespaces/raw/register", {"name": name, "metadata-location": path})

    assert answer.status_code == status, answer.text


def test_an_append_of_rows_that_no_delete_could_remove_is_refused(world: CatalogHarness) -> None:
    made = world.iceberg().create_table("raw.appended", Schema(NestedField(1, "d", LongType())))
    made.append(pa.table({"d": [1, 2]}))
    head = world.metadata("appended")["snapshots"][-1]
    _change_list(head["manifest-list"], sequence_number=1 << 40)
    snapshot = {**head, "snapshot-id": 7, "sequence-number": 2, "parent-snapshot-id": None}

    answer = world.commit("appended", {"action": "add-snapshot", "snapshot": snapshot})

    assert (answer.status_code, "not between 0 and 2" in answer.text) == (400, True), answer.text
