"""The privileges that a commit needs depend on its effect on the table, not on the form of its updates."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.table.refs import SnapshotRef
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import (
    AddSchemaUpdate,
    AssignUUIDUpdate,
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    SetCurrentSchemaUpdate,
    SetLocationUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableUpdate,
    UpgradeFormatVersionUpdate,
)
from pyiceberg.types import LongType, NestedField
from typing_extensions import override

from headgate.control.kernel.ports import Head, LogWrite
from headgate.control.organizations.commands import ORGANIZATION
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.lake.catalog import TableCatalog
from headgate.lake.commit_privileges import required_actions
from headgate.lake.errors import InvalidMetadataError
from headgate.lake.file_parsers import FileParsers
from headgate.lake.manifests import TableFiles
from headgate.lake.metadata import NewTable, build_updated_metadata
from headgate.lake.metadata_files import LoadedTable
from headgate.lake.warehouse import FileWarehouse
from headgate.untrusted_input.manifest_answers import ManifestAnswer
from tests.fakes.store import FakeStore
from tests.lake.catalog_harness import ZSTD
from tests.lake.file_parsers import PARSERS
from tests.lake.test_maintenance import added, moved

FIELDS = [NestedField(number, f"c{number}", LongType()) for number in (1, 2, 3)]
ANN = PrincipalId("ann")
NEW = NewTable(Schema(FIELDS[0]), properties={"old": "1"})
CURRENT = SetCurrentSchemaUpdate.model_validate({"schema-id": -1})
KEYS = st.sampled_from(["old", "a", "b", "comment"])

CHANGES = st.one_of(
    st.builds(lambda said: [SetPropertiesUpdate(updates=said)], st.dictionaries(KEYS, st.sampled_from("12"))),
    st.builds(lambda keys: [RemovePropertiesUpdate(removals=keys)], st.lists(KEYS, unique=True)),
    st.builds(
        lambda count: [
            AddSchemaUpdate(schema=Schema(*FIELDS[:count], schema_id=7)),
            CURRENT,
        ],
        st.integers(1, 3),
    ),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[TableCatalog, LoadedTable]:
    store, folder = FakeStore(), Path(tmp_path_factory.mktemp("warehouse"))
    catalog = TableCatalog(store, FileWarehouse(folder, ORGANIZATION), PARSERS, ORGANIZATION, time.time)
    created = catalog.create(NEW, ResourceId("d1"))
    store.append(Head(), LogWrite(0.0, None, "create", (), pointers=(created.pointer,)))
    return catalog, created


def _said_otherwise(table: LoadedTable, updates: Sequence[TableUpdate], every: int) -> list[TableUpdate]:
    """Return equivalent updates: one property at a time, with updates in between that change nothing."""
    nothing: list[TableUpdate] = [
        SetLocationUpdate(location=table.metadata.location),
        AssignUUIDUpdate(uuid=table.metadata.table_uuid),
        UpgradeFormatVersionUpdate.model_validate({"format-version": 2}),
        RemovePropertiesUpdate(removals=["never there"]),
    ]
    said: list[TableUpdate] = []
    for number, update in enumerate(updates):
        if isinstance(update, SetPropertiesUpdate):
            said.extend(SetPropertiesUpdate(updates={key: value}) for key, value in update.updates.items())
        else:
            said.append(update)
        if number % every == 0:
            said.append(nothing[number % len(nothing)])
    return said


@settings(max_examples=40, deadline=None)
@given(changes=st.lists(CHANGES, max_size=5), every=st.integers(1, 3), guarded=st.booleans())
def test_equivalent_commits_need_the_same_privileges(
    made: tuple[TableCatalog, LoadedTable],
    changes: list[list[TableUpdate]],
    every: int,
    guarded: bool,  # noqa: FBT001 (a generated value)
) -> None:
    catalog, table = made
    updates = [update for change in changes for update in change]

    plainly = catalog.prepare(table, (), updates, guarded=guarded)
    otherwise = catalog.prepare(table, (), _said_otherwise(table, updates, every), guarded=guarded)

    assert plainly.needs == otherwise.needs
    differs = plainly.metadata.properties != table.metadata.properties or len(plainly.metadata.schemas) > 1
    assert ("table.alter" in plainly.needs) == differs


def test_a_property_that_a_commit_sets_and_then_removes_is_absent(made: tuple[TableCatalog, LoadedTable]) -> None:
    base = made[1].metadata
    said = [SetPropertiesUpdate(updates={"a": "1"}), RemovePropertiesUpdate(removals=["a", "a", "old", "never there"])]

    changed = build_updated_metadata(base, None, [*said, RemovePropertiesUpdate(removals=["old"])])

    assert changed.properties == ZSTD


def test_schema_ids_are_assigned_by_the_catalog_and_not_by_the_client(made: tuple[TableCatalog, LoadedTable]) -> None:
    base = made[1].metadata
    wider = Schema(*FIELDS[:2], schema_id=0)

    once = build_updated_metadata(base, None, [AddSchemaUpdate(schema=wider), CURRENT])
    back = build_updated_metadata(once, None, [AddSchemaUpdate(schema=NEW.schema), CURRENT])

    assert [schema.schema_id for schema in back.schemas] == [0, 1]
    assert (once.current_schema_id, back.current_schema_id) == (1, 0)


REWRITE = {"table.insert", "table.update", "table.delete_rows"}


@pytest.mark.parametrize(
    ("branch", "guarded", "needs"),
    [
        ("beside", True, {"table.alter"}),
        ("main", True, {"table.alter", "table.delete_rows"}),
        ("beside", False, {"table.alter", "table.select", *REWRITE}),
        ("main", False, {"table.alter", "table.select", *REWRITE}),
    ],
)
def test_a_commit_that_removes_a_branch_needs_more_privileges_if_it_is_unguarded(
    made: tuple[TableCatalog, LoadedTable], tmp_path: Path, branch: str, needs: set[str], *, guarded: bool
) -> None:
    files = TableFiles(FileWarehouse(tmp_path, ORGANIZATION), made[1].metadata.location, FileParsers(PARSERS, ANN))
    written = [added(1, None, Operation.APPEND), moved(1), moved(1, "beside")]
    base = build_updated_metadata(made[1].metadata, None, written)
    update = RemoveSnapshotRefUpdate.model_validate({"ref-name": branch})

    assert (
        required_actions(base, build_updated_metadata(base, None, [update]), [update], files, guarded=guarded) == needs
    )


class _Counted(TableFiles):
    """Snapshots without manifests; counts how often their files are requested."""

    asked = 0

    @override
    def manifests(self, snapshot: Snapshot) -> Mapping[str, ManifestAnswer]:
        self.asked += 1
        return {}


def _moved_branches(
    made: tuple[TableCatalog, LoadedTable], snapshots: int, branches: int
) -> tuple[frozenset[str], int]:
    """Move branches from the first snapshot to the last; return the privileges that it needs, and the number of file requests."""
    _, table = made
    one = table.metadata.model_copy(
        update={
            "snapshots": [
                Snapshot.model_validate(
                    {
                        "snapshot-id": each,
                        "parent-snapshot-id": each - 1 if each > 1 else None,
                        "sequence-number": each,
                        "timestamp-ms": each,
                        "manifest-list": f"{table.metadata.location}/metadata/{each}",
                        "summary": {"operation": "append"},
                    }
                )
                for each in range(1, snapshots + 1)
            ]
        }
    )
    first, last = (SnapshotRef.model_validate({"snapshot-id": each, "type": "branch"}) for each in (1, snapshots))
    names = [f"b{each}" for each in range(branches)]
    base = one.model_copy(update={"refs": dict.fromkeys(names, first)})
    moved = one.model_copy(update={"refs": dict.fromkeys(names, last)})
    files = _Counted(FileWarehouse(Path("/nowhere"), ORGANIZATION), base.location, FileParsers(PARSERS, ORGANIZATION))
    return required_actions(base, moved, (), files, guarded=True), files.asked


def test_a_snapshot_is_read_once_however_many_branches_move_over_it(
    made: tuple[TableCatalog, LoadedTable],
) -> None:
    needs, asked = _moved_branches(made, snapshots=100, branches=100)

    assert needs == {"table.alter"}
    assert asked <= 2 * 100


def test_branches_that_move_over_too_many_snapshots_are_refused(made: tuple[TableCatalog, LoadedTable]) -> None:
    with pytest.raises(InvalidMetadataError, match="move fewer branches in one commit"):
        _moved_branches(made, snapshots=2002, branches=100)


def _ref(kind: str, snapshot: int, **settings: int) -> TableUpdate:
    said = {"action": "set-snapshot-ref", "type": kind, "snapshot-id": snapshot, **settings}
    return SetSnapshotRefUpdate.model_validate({"ref-name": "main", **said})


def _named(name: str, update: TableUpdate) -> TableUpdate:
    return update.model_copy(update={"ref_name": name})


ALTERING = {
    "moves a tag to a new snapshot": (True, _named("kept", _ref("tag", 2))),
    "moves a tag and lets it expire": (True, _named("kept", _ref("tag", 2, **{"max-ref-age-ms": 1}))),
    "makes a tag a branch": (True, _named("kept", _ref("branch", 2))),
    "makes a branch a tag": (True, _named("beside", _ref("tag", 2))),
    "makes the main branch a tag": (True, _ref("tag", 2)),
    "sets up the main branch": (True, _ref("branch", 2, **{"max-snapshot-age-ms": 1})),
    "makes a new tag": (True, _named("new", _ref("tag", 2))),
    "makes a new branch": (True, _named("new", _ref("branch", 2))),
    "writes to the main branch": (False, _ref("branch", 2)),
    "writes to another branch": (False, _named("beside", _ref("branch", 2))),
}


@pytest.mark.parametrize("what", ALTERING)
def test_every_change_of_a_ref_except_a_write_to_a_branch_needs_alter(
    made: tuple[TableCatalog, LoadedTable], tmp_path: Path, what: str
) -> None:
    alters, update = ALTERING[what]
    files = _Counted(FileWarehouse(tmp_path, ORGANIZATION), made[1].metadata.location, FileParsers(PARSERS, ANN))
    refs = [moved(1), moved(1, "beside"), _named("kept", _ref("tag", 1))]
    base = build_updated_metadata(made[1].metadata, None, [added(1, None, Operation.APPEND), *refs])
    updates = [added(2, 1, Operation.APPEND), update]

    needs = required_actions(base, build_updated_metadata(base, None, updates), updates, files, guarded=True)

    assert ("table.alter" in needs) is alters


@pytest.mark.parametrize(
    ("alters", "update"),
    [
        (False, _ref("branch", 1)),
        (True, _ref("tag", 1)),
        (True, _ref("branch", 1, **{"max-snapshot-age-ms": 1, "min-snapshots-to-keep": 1})),
    ],
)
def test_the_first_write_needs_no_alter_unless_it_configures_the_main_branch(
    made: tuple[TableCatalog, LoadedTable], tmp_path: Path, update: TableUpdate, *, alters: bool
) -> None:
    base = made[1].metadata
    files = _Counted(FileWarehouse(tmp_path, ORGANIZATION), base.location, FileParsers(PARSERS, ANN))
    updates = [added(1, None, Operation.APPEND), update]

    needs = required_actions(base, build_updated_metadata(base, None, updates), updates, files, guarded=True)

    assert ("table.alter" in needs) is alters


def test_a_snapshot_with_an_out_of_range_sequence_number_is_refused(made: tuple[TableCatalog, LoadedTable]) -> None:
    far = added(1, None, Operation.APPEND)
    snapshot = far.snapshot.model_copy(update={"sequence_number": 2**63 - 1})  # type: ignore[union-attr]

    with pytest.raises(InvalidMetadataError, match="is out of range; use the number after"):
        build_updated_metadata(made[1].metadata, None, [far.model_copy(update={"snapshot": snapshot})])
