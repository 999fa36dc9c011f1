"""The effect of a snapshot with deletion vectors and row ids, by its files alone."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyiceberg.table.snapshots import Snapshot

from headgate.lake.manifests import ListedFile
from headgate.lake.snapshot_diff import RowEffect, row_effect
from tests.lake.listed_files import ListedFiles, listed_file, listed_manifest


def _file(path: str, identity: str, *, records: int, is_data: bool = True, deletes_of: str | None = None) -> ListedFile:
    whole = (0, 1, 1, identity.encode())
    return listed_file(path, is_data=is_data, identity=whole, deletes_of=deletes_of, records=records)


def _vector(of: str | None, records: int, name: str = "old") -> ListedFile:
    return _file("vectors.puffin", f"{of} {records} {name}", records=records, is_data=False, deletes_of=of)


DATA, OTHER = (_file(name, name, records=10) for name in ("data-1", "data-2"))
PARENT, CHILD = (Snapshot(**{"snapshot-id": id, "manifest-list": f"list-{id}"}) for id in (1, 2))


def _effect(before: Sequence[ListedFile], after: Sequence[ListedFile], *, guarded: bool = True) -> RowEffect:
    """Return the effect of replacing the files `before` by the files `after`."""
    files = ListedFiles(
        {"list-1": [listed_manifest("before")], "list-2": [listed_manifest("after")]},
        {"before": before, "after": after},
    )
    return row_effect(files, CHILD, PARENT, guarded=guarded)


@pytest.mark.parametrize("records", [2, 3])
def test_a_vector_that_replaces_a_smaller_one_of_its_data_file_only_removes_rows_in_a_guarded_session(
    records: int,
) -> None:
    effect = _effect([DATA, _vector("data-1", 2)], [DATA, _vector("data-1", records, "new")])

    assert (effect.adds, effect.removes) == (False, True)


@pytest.mark.parametrize(
    "after",
    [
        [DATA],
        [DATA, _vector("data-1", 1)],
        [DATA, OTHER, _vector("data-2", 9)],
        [DATA, _vector(None, 9)],
    ],
    ids=["none", "a smaller one", "one of another file", "a delete file"],
)
def test_a_removed_vector_brings_rows_back(after: list[ListedFile]) -> None:
    assert _effect([DATA, OTHER, _vector("data-1", 2)], after).adds


def test_a_vector_that_replaces_the_position_deletes_of_its_data_file_only_removes_rows() -> None:
    deletes = [
        _file(f"deletes-{each}.parquet", f"deletes {each}", records=each, is_data=False, deletes_of="data-1")
        for each in (2, 3)
    ]

    effect = _effect([DATA, OTHER, *deletes], [DATA, OTHER, _vector("data-1", 5)])

    assert (effect.adds, effect.removes) == (False, True)
    assert _effect([DATA, OTHER, *deletes], [DATA, OTHER, _vector("data-1", 2)]).adds


def test_a_vector_of_any_other_client_may_bring_rows_back() -> None:
    effect = _effect([DATA, _vector("data-1", 2)], [DATA, _vector("data-1", 3, "new")], guarded=False)

    assert effect.adds
    assert effect.removes


def test_a_vector_that_is_removed_with_its_data_file_brings_no_row_back() -> None:
    effect = _effect([DATA, OTHER, _vector("data-1", 2)], [OTHER])

    assert (effect.adds, effect.removes) == (False, True)


def test_a_removed_delete_file_that_is_no_vector_brings_rows_back() -> None:
    assert _effect([DATA, _vector(None, 2)], [DATA, _vector("data-1", 9)]).adds


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        (None, 0, RowEffect(adds=False, removes=False)),
        (7, 7, RowEffect(adds=False, removes=False)),
        (0, 7, RowEffect(adds=False, removes=False, rewrites=True)),
        (7, None, RowEffect(adds=False, removes=False, rewrites=True)),
    ],
)
def test_the_rows_of_a_manifest_get_ids_once(before: int | None, after: int | None, effect: RowEffect) -> None:
    lists = {"list-1": [listed_manifest("m", before)], "list-2": [listed_manifest("m", after)]}
    files = ListedFiles(lists, {"m": [DATA]})

    assert row_effect(files, CHILD, PARENT, guarded=False) == effect


def test_an_entry_of_a_deleted_file_in_a_new_manifest_counts_as_a_delete() -> None:
    """The file stays live, by its entry in the manifest of the parent."""
    lists = {"list-1": [listed_manifest("m")], "list-2": [listed_manifest("m"), listed_manifest("new")]}
    forged = replace(DATA, is_deleted=True)
    files = ListedFiles(lists, {"m": [DATA], "new": [forged, OTHER]})

    assert row_effect(files, CHILD, PARENT, guarded=False) == RowEffect(adds=True, removes=True)


def test_an_old_entry_of_a_deleted_file_in_a_kept_manifest_counts_as_nothing() -> None:
    lists = {"list-1": [listed_manifest("m")], "list-2": [listed_manifest("m"), listed_manifest("new")]}
    files = ListedFiles(lists, {"m": [replace(DATA, is_deleted=True)], "new": [OTHER]})

    assert row_effect(files, CHILD, PARENT, guarded=False) == RowEffect(adds=True, removes=False)
