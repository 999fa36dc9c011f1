"""Row ids of a snapshot: what Iceberg's library writes is accepted, and no row gets the id of another row or a second one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from pyiceberg.table.snapshots import Snapshot

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.manifest_row_ids import check_row_ids, check_stored_row_ids
from headgate.lake.manifests import ListedFile
from headgate.untrusted_input.manifest_answers import ManifestAnswer
from tests.lake.listed_files import ListedFiles, listed_file, listed_manifest

FIRST = 100
"""The `first-row-id` of the new snapshot: the parent's rows have the ids below."""


def _existing(path: str, first_row_id: int | None = None, **more: int | bool) -> ListedFile:
    return listed_file(path, is_added=False, first_row_id=first_row_id, **more)


def _rewritten(path: str, first_row_id: int | None, rows: int = 10) -> ManifestAnswer:
    """Return a manifest of existing files."""
    return listed_manifest(path, first_row_id, added_rows=0, existing_rows=rows)


def _deletes(path: str, first_row_id: int | None = None) -> ManifestAnswer:
    return listed_manifest(path, first_row_id, is_data=False)


A, B, NEW = listed_file("a"), listed_file("b"), listed_file("new")
VECTOR = listed_file("vector", is_data=False, deletes_of="a")
Lists = tuple[Sequence[ManifestAnswer], Sequence[ManifestAnswer]]


@dataclass(frozen=True)
class Case:
    """The manifests of the parent and of the new snapshot, and the files of the new manifests."""

    before: Sequence[ManifestAnswer]
    after: Sequence[ManifestAnswer]
    files: Mapping[str, Sequence[ListedFile]] = field(default_factory=dict[str, Sequence[ListedFile]])
    added_rows: int = 10
    version: int = 3


OLD = (listed_manifest("m1", 0), listed_manifest("m2", 10))
"""Two manifests: of the data file `a` with the row ids 0 to 9, and of the data file `b` with the row ids 10 to 19."""
OF_V2 = (listed_manifest("m1"), listed_manifest("m2"))
ADDED = {"n": [NEW]}

ACCEPTED = {
    "the first append": Case((), [listed_manifest("n", FIRST)], ADDED),
    "an append": Case(OLD, [listed_manifest("n", FIRST), *OLD], ADDED),
    "an append of two manifests": Case(
        OLD,
        [listed_manifest("n", FIRST), *OLD, listed_manifest("n2", FIRST + 10)],
        {**ADDED, "n2": [listed_file("new2")]},
        20,
    ),
    "an append that leaves a gap": Case(OLD, [listed_manifest("n", FIRST + 5), *OLD], ADDED, 15),
    "an append that merges a manifest": Case(
        OLD,
        [listed_manifest("n", FIRST, existing_rows=10), OLD[1]],
        {"n": [NEW, _existing("a", 0)]},
        20,
    ),
    "an append that reserves only the ids that it needs": Case(
        OLD,
        [listed_manifest("n", FIRST, existing_rows=10), OLD[1]],
        {"n": [NEW, _existing("a", 0)]},
    ),
    "a commit that keeps all rows": Case(OLD, OLD, added_rows=0),
    "an overwrite": Case(
        OLD,
        [listed_manifest("n", FIRST), listed_manifest("d", FIRST + 10, added_rows=0)],
        {"n": [NEW], "d": [_existing("a", 0, is_deleted=True), _existing("b", 10, is_deleted=True)]},
    ),
    "a rewrite of the manifests": Case(
        OLD, [_rewritten("r", FIRST, 20)], {"r": [_existing("b", 10), _existing("a", 0)]}, 20
    ),
    "a rewrite of the manifests that loses row ids": Case(
        OLD, [_rewritten("r", FIRST, 20)], {"r": [_existing("b"), _existing("a")]}, 20
    ),
    "a merged manifest with an id that no file inherits": Case(
        OLD, [_rewritten("r", 0, 20)], {"r": [_existing("a", 0), _existing("b", 10)]}, 0
    ),
    "a manifest that replaces another and inherits the same ids": Case(
        OLD, [_rewritten("r", 0, 20)], {"r": [_existing("a"), _existing("b")]}, 0
    ),
    "a deletion vector": Case(OLD, [*OLD, _deletes("v")], {"v": [VECTOR]}, 0),
    "the first commit after the upgrade": Case(
        OF_V2, [listed_manifest("n", FIRST), listed_manifest("m1", FIRST + 10), listed_manifest("m2", FIRST + 20)], ADDED, 30
    ),
    "the first commit after the upgrade of a list without counts": Case(
        [listed_manifest("m1", added_rows=None)], [listed_manifest("m1", FIRST)], {"m1": [A]}
    ),
    "an append beside deletes": Case(
        [*OLD, _deletes("v")], [listed_manifest("n", FIRST), *OLD, _deletes("v")], ADDED
    ),
    "the first commit after the upgrade beside deletes": Case(
        [*OF_V2, _deletes("v")],
        [listed_manifest("n", FIRST), listed_manifest("m1", FIRST + 10), listed_manifest("m2", FIRST + 20), _deletes("v")],
        ADDED,
        30,
    ),
    "a rewrite of the manifests after the upgrade": Case(
        OF_V2, [_rewritten("r", FIRST, 20)], {"r": [_existing("a"), _existing("b")]}, 20
    ),
    "an append to a table of version 2": Case(OF_V2, [listed_manifest("n"), *OF_V2], ADDED, version=2),
    "numbers of rows that the parent does not state": Case(
        [listed_manifest("m1", added_rows=None)], [listed_manifest("m1")], version=1
    ),
}  # fmt: skip
REFUSED = {
    "no row ids": (Case(OLD, [listed_manifest("n"), *OLD], ADDED), "`n` has no `first_row_id`"),
    "no row ids after the upgrade": (Case(OF_V2, OF_V2), "`m1` has no `first_row_id`"),
    "the parent's row ids removed": (Case(OLD, [listed_manifest("m1"), OLD[1]]), "`m1` has no `first_row_id`"),
    "the parent's row ids changed": (Case(OLD, [listed_manifest("m1", 50), OLD[1]]), "another `first_row_id` than"),
    "the parent's rows numbered again": (Case(OLD, [listed_manifest("m1", FIRST), OLD[1]]), "another `first_row_id` than"),
    "the row ids of other rows": (Case(OLD, [listed_manifest("n", 0), *OLD], ADDED), "the row ids of other rows"),
    "negative row ids": (Case(OLD, [listed_manifest("n", -1), *OLD], ADDED), "`n` has a `first_row_id` below 0"),
    "an id of the future that no file inherits": (
        Case(OLD, [_rewritten("r", 1 << 62, 20)], {"r": [_existing("a", 0), _existing("b", 10)]}),
        "`r` has a `first_row_id` below 0 or above",
    ),
    "existing files that inherit the ids of others": (
        Case(OLD, [_rewritten("r", 0, 20)], {"r": [_existing("b"), _existing("a")]}, 0),
        "`r` has the row ids of other rows",
    ),
    "an existing file that inherits the ids of a deleted one": (
        Case(OLD, [_rewritten("r", 0)], {"r": [_existing("a", is_deleted=True), _existing("b")]}, 0),
        "`r` has the row ids of other rows",
    ),
    "an added file that inherits its row ids of before": (
        Case(OLD, [listed_manifest("n", 0), OLD[1]], {"n": [A]}, 0),
        "`n` has the row ids of other rows",
    ),
    "an existing file twice in one manifest": (
        Case(OLD, [_rewritten("r", FIRST, 20), OLD[1]], {"r": [_existing("a", 0), _existing("a", 0)]}, 20),
        "`a` twice",
    ),
    "an existing file twice in two manifests": (
        Case(OLD, [_rewritten("r", 0), _rewritten("q", FIRST), OLD[1]], {"r": [_existing("a")], "q": [_existing("a", 0)]}),
        "`a` twice",
    ),
    "one range twice": (
        Case(OLD, [listed_manifest("n", FIRST), listed_manifest("n2", FIRST)], {**ADDED, "n2": [B]}, 20),
        "`n2` has the row ids of other rows",
    ),
    "overlapping ranges": (
        Case(OLD, [listed_manifest("n", FIRST), listed_manifest("n2", FIRST + 9)], {**ADDED, "n2": [B]}, 20),
        "`n2` has the row ids of other rows",
    ),
    "overlapping ranges after the upgrade": (
        Case(OF_V2, [listed_manifest("m1", FIRST), listed_manifest("m2", FIRST + 9)], {}, 20),
        "`m2` has the row ids of other rows",
    ),
    "more row ids than the snapshot adds": (
        Case(OLD, [listed_manifest("n", FIRST), *OLD], ADDED, 9),
        "beyond its `added-rows`",
    ),
    "row ids of the future": (
        Case(OLD, [listed_manifest("n", 1 << 62), *OLD], ADDED),
        "`n` has a `first_row_id` below 0 or above",
    ),
    "rewritten files beyond the range": (
        Case(OLD, [_rewritten("r", FIRST, 20)], {"r": [_existing("b"), _existing("a")]}, 10),
        "beyond its `added-rows`",
    ),
    "a new file with row ids of another": (
        Case(OLD, [listed_manifest("n", FIRST), *OLD], {"n": [listed_file("new", first_row_id=0)]}),
        "has a `first_row_id` that it does not have",
    ),
    "a new file with row ids of its own": (
        Case(OLD, [listed_manifest("n", FIRST), *OLD], {"n": [listed_file("new", first_row_id=FIRST)]}),
        "has a `first_row_id` that it does not have",
    ),
    "an added file with its row ids of before": (
        Case(OLD, [listed_manifest("n", FIRST), OLD[1]], {"n": [listed_file("a", first_row_id=0)]}),
        "has a `first_row_id` that it does not have",
    ),
    "an existing file with row ids of another": (
        Case(OLD, [_rewritten("r", FIRST, 20)], {"r": [_existing("b", 0), _existing("a", 10)]}, 20),
        "has a `first_row_id` that it does not have",
    ),
    "a deleted file with row ids of another": (
        Case(OLD, [_rewritten("r", FIRST, 0)], {"r": [_existing("b", 0, is_deleted=True)]}),
        "has a `first_row_id` that it does not have",
    ),
    "an unknown file as an existing one": (
        Case(OLD, [_rewritten("r", FIRST), *OLD], {"r": [_existing("new", 0)]}),
        "has a `first_row_id` that it does not have",
    ),
    "an existing file of version 2 with row ids": (
        Case(OF_V2, [_rewritten("r", FIRST, 20)], {"r": [_existing("a", 0), _existing("b")]}, 20),
        "has a `first_row_id` that it does not have",
    ),
    "a delete file with row ids": (
        Case(OLD, [*OLD, _deletes("v")], {"v": [listed_file("vector", is_data=False, first_row_id=0)]}),
        "has a `first_row_id` that it does not have",
    ),
    "a delete manifest with row ids": (Case(OLD, [*OLD, _deletes("v", FIRST)], {"v": [VECTOR]}), "only data manifests"),
    "a data file in a delete manifest": (Case(OLD, [*OLD, _deletes("v")], {"v": [NEW]}), "a data file in a delete"),
    "a delete file in a data manifest": (
        Case(OLD, [listed_manifest("n", FIRST), *OLD], {"n": [VECTOR]}),
        "a delete file in a data manifest",
    ),
    "too few rows in the list": (
        Case(OF_V2, [listed_manifest("n", added_rows=0), *OF_V2], ADDED, version=2),
        "another number of rows",
    ),
    "too many rows in the list": (
        Case(OF_V2, [listed_manifest("n", existing_rows=1 << 60), *OF_V2], ADDED, version=2),
        "another number of rows",
    ),
    "another number of rows of an existing manifest": (
        Case(OF_V2, [listed_manifest("m1", added_rows=1), OF_V2[1]], version=2),
        "another number of rows",
    ),
    "a wrong number of rows that the parent does not state": (
        Case([listed_manifest("m1", added_rows=None)], [listed_manifest("m1", added_rows=1)], version=1),
        "another number of rows",
    ),
    "row ids in a list of version 2": (
        Case(OF_V2, [listed_manifest("n", 0), *OF_V2], ADDED, version=2),
        "tables of format version 2 have no row ids",
    ),
    "row ids in a manifest of version 2": (
        Case(OF_V2, [listed_manifest("n"), *OF_V2], {"n": [listed_file("new", first_row_id=0)]}, version=2),
        "has a `first_row_id` that it does not have",
    ),
}  # fmt: skip


def _check(case: Case) -> None:
    files = ListedFiles({"before": case.before, "after": case.after}, {"m1": [A], "m2": [B], **case.files})
    parent = Snapshot(**{"snapshot-id": 1, "manifest-list": "before"})
    said = {"first-row-id": FIRST, "added-rows": case.added_rows} if case.version > 2 else {}
    snapshot = Snapshot(**{"snapshot-id": 2, "manifest-list": "after", **said})
    check_row_ids(files, snapshot, files.manifests(parent), case.version)


@pytest.mark.parametrize("case", ACCEPTED)
def test_row_ids_that_iceberg_assigns_are_accepted(case: str) -> None:
    _check(ACCEPTED[case])


@pytest.mark.parametrize("case", REFUSED)
def test_forged_row_ids_are_refused(case: str) -> None:
    made, words = REFUSED[case]

    with pytest.raises(InvalidMetadataError, match=words):
        _check(made)


def test_a_file_that_the_parent_names_twice_keeps_either_row_id() -> None:
    before = [listed_manifest("m1", 0), listed_manifest("m2", 10)]
    after = [_rewritten("r", FIRST, 20)]
    kept = {"r": [_existing("a", 10), _existing("a", 0)], "m2": [A]}

    _check(Case(before, after, kept, 20))


def _check_stored(
    manifests: Sequence[ManifestAnswer], files: Mapping[str, Sequence[ListedFile]], next_row_id: int | None
) -> None:
    listed = ListedFiles({"list": manifests}, files)
    check_stored_row_ids(listed, [Snapshot(**{"snapshot-id": 1, "manifest-list": "list"})], next_row_id)


@pytest.mark.parametrize("next_row_id", [20, 21])
def test_stored_row_ids_below_the_next_one_are_accepted(next_row_id: int) -> None:
    _check_stored(OLD, {"m1": [A], "m2": [B]}, next_row_id)


@pytest.mark.parametrize("next_row_id", [None, 0])
def test_stored_manifests_without_row_ids_are_accepted(next_row_id: int | None) -> None:
    _check_stored(OF_V2, {"m1": [A], "m2": [B]}, next_row_id)


@pytest.mark.parametrize(
    ("manifest", "file", "next_row_id"),
    [
        (listed_manifest("m", 10), A, 19),
        (listed_manifest("m", -1), A, 99),
        (listed_manifest("m", 0), _existing("a", 90), 99),
        (listed_manifest("m"), _existing("a", 0), 99),
        (listed_manifest("m", 0), A, None),
        (listed_manifest("m"), _existing("a", 0), None),
        (_deletes("m", 0), VECTOR, 99),
        (listed_manifest("m", added_rows=9), A, None),
    ],
)
def test_stored_row_ids_that_a_later_commit_could_assign_again_are_refused(
    manifest: ManifestAnswer, file: ListedFile, next_row_id: int | None
) -> None:
    with pytest.raises(InvalidMetadataError):
        _check_stored([manifest], {"m": [file]}, next_row_id)
