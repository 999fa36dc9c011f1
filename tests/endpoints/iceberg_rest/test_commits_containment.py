"""Containment of commits: no files of other tables, no other location or identity, and no misleading operation."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyiceberg.exceptions import ForbiddenError
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from tests.lake.catalog_harness import LAKE, CatalogHarness, served
from tests.lake.staged_table import build_create_updates

ROWS = pa.table({"name": ["a", "b"], "amount": [1, 2]})
SCHEMA = Schema(NestedField(1, "name", StringType()), NestedField(2, "amount", LongType()))
MINE = (*LAKE, "raw", "mine")
IO = PyArrowFileIO()
MALLORY = "mallory"
DEFAULTS = [{key: value} for key in ("initial-default", "write-default") for value in ("session_user()", "")]
RULE = r"a file (outside of the table's location|of the table leads through a symbolic link out of)"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CatalogHarness]:
    """`mallory` may do everything on `raw.mine` and `raw`, and nothing on `secret.salaries`."""
    with served(tmp_path) as made:
        admin = made.iceberg()
        for database in ("raw", "secret"):
            admin.create_namespace(database)
        admin.create_table("secret.salaries", SCHEMA).append(ROWS)
        admin.create_table("raw.mine", SCHEMA).append(ROWS)
        made.rights.allow("mallory", MINE, "*")
        made.rights.allow("mallory", MINE[:-1], "*")
        yield made


def _mine(world: CatalogHarness) -> Table:
    return world.iceberg("mallory").load_table("raw.mine")


def _secret_file(world: CatalogHarness) -> str:
    table = world.iceberg().load_table("secret.salaries")
    return next(iter(table.scan().plan_files())).file.file_path


def _entry(path: str, status: ManifestEntryStatus = ManifestEntryStatus.ADDED, **more: Any) -> ManifestEntry:
    file = DataFile.from_args(
        file_path=path,
        content=more.pop("content", DataFileContent.DATA),
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=2,
        file_size_in_bytes=more.pop("size", 900),
        **more,
    )
    file.spec_id = 0
    return ManifestEntry.from_args(
        status=status, snapshot_id=7, sequence_number=1, file_sequence_number=1, data_file=file
    )


def _manifest(table: Table, entries: Sequence[ManifestEntry], folder: str | None = None) -> ManifestFile:
    path = f"{folder or table.location() + '/metadata'}/{uuid.uuid4()}.avro"
    with write_manifest(2, table.spec(), table.schema(), IO.new_output(path), 7, "deflate") as writer:
        for entry in entries:
            writer.add_entry(entry)
    return writer.to_manifest_file()


def _commit(
    world: CatalogHarness,
    table: Table,
    manifests: Sequence[ManifestFile],
    token: str = MALLORY,
    folder: str | None = None,
    operation: str = "append",
) -> httpx.Response:
    """Commit a crafted snapshot on top of the current one."""
    parent = table.current_snapshot()
    assert parent is not None
    path = f"{folder or table.location() + '/metadata'}/{uuid.uuid4()}-list.avro"
    number = len(table.metadata.snapshots) + 1
    with write_manifest_list(2, IO.new_output(path), 7, parent.snapshot_id, number, "deflate") as writer:
        writer.add_manifests(list(manifests))
    snapshot = {
        "snapshot-id": 7,
        "parent-snapshot-id": parent.snapshot_id,
        "sequence-number": number,
        "timestamp-ms": parent.timestamp_ms + 1,
        "manifest-list": path,
        "summary": {"operation": operation},
        "schema-id": 0,
    }
    moved = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 7}
    return _update(world, [{"action": "add-snapshot", "snapshot": snapshot}, moved], token)


def _update(world: CatalogHarness, updates: list[dict[str, Any]], token: str = MALLORY) -> httpx.Response:
    body = {"requirements": [], "updates": updates}
    return world.call("POST", "/namespaces/raw/tables/mine", body, token)


def _kept(table: Table) -> list[ManifestFile]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot.manifests(IO)


class TestFiles:
    """Every file of a table is inside the table's own location."""

    def test_a_data_file_of_another_table_cannot_be_added(self, world: CatalogHarness) -> None:
        with pytest.raises(ForbiddenError, match=RULE):
            _mine(world).add_files([_secret_file(world)])

        assert _mine(world).scan().to_arrow().num_rows == 2

    def test_a_hand_made_commit_of_files_inside_the_table_is_accepted(self, world: CatalogHarness) -> None:
        table = _mine(world)
        manifest = _manifest(table, [_entry(f"{table.location()}/data/new.parquet")])

        assert _commit(world, table, [*_kept(table), manifest]).status_code == 200

    @pytest.mark.parametrize("status", list(ManifestEntryStatus))
    def test_a_manifest_entry_for_a_file_of_another_table_is_refused(
        self, world: CatalogHarness, status: ManifestEntryStatus
    ) -> None:
        table = _mine(world)
        manifest = _manifest(table, [_entry(_secret_file(world), status)])

        _forbidden(_commit(world, table, [*_kept(table), manifest]))

    @pytest.mark.parametrize(
        "path",
        [
            "{mine}/../{secret}",
            "{mine}0/data/a.parquet",
            "{mine}/%2e%2e/{secret}",
            "{mine}",
            "file:///etc/passwd",
            "/etc/passwd",
            "s3://bucket/a.parquet",
            "http://127.0.0.1/a.parquet",
        ],
    )
    def test_a_data_file_path_outside_the_table_is_refused(self, world: CatalogHarness, path: str) -> None:
        table = _mine(world)
        named = path.format(mine=table.location(), secret=_secret_file(world).rpartition("/")[2])
        _forbidden(_commit(world, table, [*_kept(table), _manifest(table, [_entry(named)])]))

    def test_a_manifest_outside_the_table_is_refused(self, world: CatalogHarness) -> None:
        table = _mine(world)
        theirs = world.iceberg().load_table("secret.salaries")
        folder = theirs.location() + "/metadata"
        inside = f"{table.location()}/data/a.parquet"

        _forbidden(_commit(world, table, [*_kept(table), *_kept(theirs)]))
        _forbidden(_commit(world, table, [*_kept(table), _manifest(table, [_entry(inside)], folder)]))

    def test_a_manifest_list_outside_the_table_is_refused(self, world: CatalogHarness) -> None:
        theirs = world.iceberg().load_table("secret.salaries").location()

        _forbidden(_commit(world, _mine(world), _kept(_mine(world)), folder=theirs + "/metadata"))

    def test_a_symbolic_link_out_of_the_table_is_refused(self, world: CatalogHarness) -> None:
        table = _mine(world)
        folder = Path(table.location().removeprefix("file://"))
        (folder / "data" / "link.parquet").symlink_to(_secret_file(world).removeprefix("file://"))
        (folder / "data" / "root").symlink_to("/")

        for name in ("link.parquet", "root/etc/passwd"):
            manifest = _manifest(table, [_entry(f"{table.location()}/data/{name}")])
            _forbidden(_commit(world, table, [*_kept(table), manifest]))

    @pytest.mark.parametrize("name", ["statistics", "partition-statistics"])
    def test_a_statistics_file_outside_the_table_is_refused(self, world: CatalogHarness, name: str) -> None:
        table = _mine(world)
        snapshot = table.current_snapshot()
        assert snapshot is not None
        file = {
            "snapshot-id": snapshot.snapshot_id,
            "statistics-path": _secret_file(world),
            "file-size-in-bytes": 1,
            "file-footer-size-in-bytes": 1,
            "blob-metadata": [],
        }

        _forbidden(_update(world, [{"action": f"set-{name}", name: file}]))

    @pytest.mark.parametrize("content", [b"", b"Obj\x01", b"nonsense" * 99])
    def test_a_file_that_is_no_manifest_list_is_a_bad_request(self, world: CatalogHarness, content: bytes) -> None:
        table = _mine(world)
        path = f"{table.location()}/metadata/bad.avro"
        Path(path.removeprefix("file://")).write_bytes(content)
        snapshot = {"snapshot-id": 7, "sequence-number": 9, "timestamp-ms": 1, "manifest-list": path}

        answer = _update(world, [{"action": "add-snapshot", "snapshot": snapshot}])

        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith("a manifest list cannot be read: the ")

    def test_a_refusal_reveals_neither_name_nor_id_of_the_other_table(self, world: CatalogHarness) -> None:
        table = _mine(world)
        answer = _commit(world, table, [*_kept(table), _manifest(table, [_entry(_secret_file(world))])])

        assert "secret" not in answer.text
        assert str(world.rights.find((*LAKE, "secret", "salaries"))) not in answer.text


class TestIdentityAndPlace:
    """Headgate chooses a table's uuid, location and file layout."""

    @pytest.mark.parametrize(
        "key",
        [
            "write.data.path",
            "write.metadata.path",
            "write.object-storage.path",
            "write.folder-storage.path",
            "write.location-provider.impl",
            "io-impl",
            "location",
            "Write.Data.Path ",
            "something.new.path",
        ],
    )
    def test_a_property_that_moves_files_is_refused(self, world: CatalogHarness, key: str) -> None:
        there = world.iceberg().load_table("secret.salaries").location()

        _forbidden(_update(world, [{"action": "set-properties", "updates": {key: there}}]))
        for staged in (False, True):
            _forbidden(_create(world, properties={key: there}, **{"stage-create": staged}))

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("write.spark.accept-any-schema", "true"),
            ("encryption.key-id", "k"),
            ("parquet.crypto.factory.class", "x.Y"),
            ("provider", "csv"),
            ("path", "/etc"),
            ("write.data.p\u0430th", "/etc"),
            ("write.parquet.row-group-size-bytes", "9" * 20),
            ("write.parquet.row-group-size", "1"),
            ("write.format.default", "text"),
        ],
    )
    def test_a_property_that_is_unlisted_or_out_of_bounds_is_refused(
        self, world: CatalogHarness, key: str, value: str
    ) -> None:
        _forbidden(_update(world, [{"action": "set-properties", "updates": {key: value}}]))
        for staged in (False, True):
            _forbidden(_create(world, properties={key: value}, **{"stage-create": staged}))

    @pytest.mark.parametrize("default", DEFAULTS)
    @pytest.mark.parametrize("nested", [False, True])
    def test_a_default_value_of_a_column_is_refused(
        self, world: CatalogHarness, default: dict[str, Any], *, nested: bool
    ) -> None:
        schema = _with_default(default, nested=nested)
        added = {"action": "add-schema", "schema": schema, "last-column-id": 4}

        for staged in (False, True):
            _forbidden(_create(world, schema=schema, **{"stage-create": staged}))
        _forbidden(_update(world, [added, {"action": "set-current-schema", "schema-id": -1}]))
        assert "told" not in world.call("GET", "/namespaces/raw/tables/mine").text

    def test_a_table_location_that_the_client_chooses_is_refused(self, world: CatalogHarness) -> None:
        there = world.iceberg().load_table("secret.salaries").location()

        _forbidden(_update(world, [{"action": "set-location", "location": there}]))
        _forbidden(_update(world, [{"action": "set-location", "location": _mine(world).location() + "/"}]))
        for staged in (False, True):
            _forbidden(_create(world, location=there, **{"stage-create": staged}))
        same = [{"action": "set-location", "location": _mine(world).location()}]
        assert _update(world, same).status_code == 200

    def test_a_table_uuid_that_the_client_chooses_is_refused(self, world: CatalogHarness) -> None:
        theirs = str(world.rights.find((*LAKE, "secret", "salaries")))

        for other in (theirs, str(uuid.uuid4())):
            _forbidden(_update(world, [{"action": "assign-uuid", "uuid": other}]))

    @pytest.mark.parametrize("version", ["0", "01", "4", "x", "3.0"])
    def test_a_format_version_that_is_not_supported_is_refused(self, world: CatalogHarness, version: str) -> None:
        _forbidden(_create(world, properties={"format-version": version}))

    def test_a_sequence_number_that_goes_back_is_a_conflict(self, world: CatalogHarness) -> None:
        table = _mine(world)
        snapshot = {
            "snapshot-id": 7,
            "sequence-number": 0,
            "timestamp-ms": 1,
            "manifest-list": f"{table.location()}/metadata/x.avro",
        }

        assert _update(world, [{"action": "add-snapshot", "snapshot": snapshot}]).status_code == 409


class TestStagedCreates:
    """A staged create is bound to its caller, its name and its location."""

    def _commit(
        self, world: CatalogHarness, name: str, updates: list[dict[str, Any]], token: str = MALLORY
    ) -> httpx.Response:
        body = {"requirements": [{"type": "assert-create"}], "updates": updates}
        return world.call("POST", f"/namespaces/raw/tables/{name}", body, token)

    def test_a_staged_table_does_not_exist_until_its_commit_matches_the_staging(self, world: CatalogHarness) -> None:
        metadata = _create(world, **{"stage-create": True}).json()["metadata"]
        theirs = world.iceberg().load_table("secret.salaries")
        world.rights.allow("eve", MINE[:-1], "*")
        moved = {"action": "set-properties", "updates": {"write.data.path": theirs.location()}}
        before = world.rights.store.head(), world.metadata_files()

        refused = [
            self._commit(world, "new", build_create_updates({**metadata, "table-uuid": str(uuid.uuid4())})),
            self._commit(
                world, "new", build_create_updates({**metadata, "table-uuid": str(theirs.metadata.table_uuid)})
            ),
            self._commit(world, "new", build_create_updates({**metadata, "location": theirs.location()})),
            self._commit(world, "new", build_create_updates({**metadata, "location": metadata["location"] + "/x"})),
            self._commit(world, "new", build_create_updates({**metadata, "schemas": [_with_default(DEFAULTS[0])]})),
            self._commit(world, "new", [*build_create_updates(metadata), moved]),
            self._commit(world, "other", build_create_updates(metadata)),
            self._commit(world, "new", build_create_updates(metadata), "eve"),
        ]

        assert [answer.status_code for answer in refused] == [403] * len(refused)
        for malformed in (build_create_updates(metadata)[1:], build_create_updates(metadata, 0)):
            assert self._commit(world, "new", malformed).status_code == 400
        assert (world.rights.store.head(), world.metadata_files()) == before
        assert world.call("HEAD", "/namespaces/raw/tables/new").status_code == 404
        assert self._commit(world, "new", build_create_updates(metadata)).status_code == 200
        assert world.rights.find((*MINE[:-1], "new")) == metadata["table-uuid"]
        # A client that lost the answer may retry; the retry has no further effect.
        world.rights.allow(MALLORY, (*MINE[:-1], "new"), "table.select")
        assert (
            self._commit(world, "new", build_create_updates(metadata)).json()["metadata"]["table-uuid"]
            == metadata["table-uuid"]
        )
        assert world.rights.store.head().revision == before[0].revision + 2

    @pytest.mark.parametrize("parents", [{7: 7}, {7: 8, 8: 7}, {7: None}])
    def test_a_staged_table_with_a_file_of_another_table_is_refused_whatever_its_snapshots_name_as_parents(
        self, world: CatalogHarness, parents: dict[int, int | None]
    ) -> None:
        metadata = _create(world, **{"stage-create": True}).json()["metadata"]
        folder = f"{metadata['location']}/metadata"
        Path(folder.removeprefix("file://")).mkdir(parents=True)
        path = f"{folder}/list.avro"
        with write_manifest_list(2, IO.new_output(path), 7, None, 1, "deflate") as writer:
            writer.add_manifests([_manifest(_mine(world), [_entry(_secret_file(world))], folder)])
        snapshots = [
            {
                "action": "add-snapshot",
                "snapshot": {
                    "snapshot-id": id,
                    "parent-snapshot-id": parent,
                    "sequence-number": number,
                    "timestamp-ms": int(time.time() * 1000),
                    "manifest-list": path,
                    "summary": {"operation": "append"},
                },
            }
            for number, (id, parent) in enumerate(parents.items(), 1)
        ]

        answer = self._commit(world, "new", [*build_create_updates(metadata), *snapshots])

        _forbidden(answer)
        assert world.call("HEAD", "/namespaces/raw/tables/new").status_code == 404

    def test_a_staged_create_of_a_name_taken_meanwhile_is_a_conflict(self, world: CatalogHarness) -> None:
        first = _create(world, **{"stage-create": True}).json()["metadata"]
        assert _create(world).status_code == 200
        before = world.metadata_files()

        answer = self._commit(world, "new", build_create_updates(first))

        assert (answer.status_code, answer.json()["error"]["type"]) == (409, "AlreadyExistsException")
        assert world.metadata_files() == before


class TestWhatACommitReallyDoes:
    """A caller who may only insert cannot remove rows by declaring the commit an append."""

    def _refused(self, world: CatalogHarness, make: Callable[[Table], Sequence[ManifestFile]]) -> None:
        world.rights.allow("ina", MINE, "table.select", "table.insert")
        table = world.iceberg("ina").load_table("raw.mine")
        answer = _commit(world, table, make(table), "ina")
        assert answer.status_code == 403, answer.text
        assert "table.delete_rows" in answer.text
        assert _commit(world, table, make(table), "mallory").status_code == 200

    def test_an_append_that_leaves_out_a_manifest_needs_delete_rows(self, world: CatalogHarness) -> None:
        self._refused(world, lambda _: [])

    def test_an_append_that_adds_a_delete_file_needs_delete_rows(self, world: CatalogHarness) -> None:
        def make(table: Table) -> list[ManifestFile]:
            path = f"{table.location()}/data/deletes.parquet"
            manifest = _manifest(table, [_entry(path, content=DataFileContent.POSITION_DELETES)])
            manifest[3] = ManifestContent.DELETES
            return [*_kept(table), manifest]

        self._refused(world, make)

    def test_an_append_that_rewrites_a_manifest_without_a_file_needs_delete_rows(self, world: CatalogHarness) -> None:
        self._refused(world, lambda table: [_manifest(table, [_entry(f"{table.location()}/data/other.parquet")])])

    def test_an_append_that_rewrites_the_statistics_of_an_entry_needs_delete_rows(self, world: CatalogHarness) -> None:
        def make(table: Table) -> list[ManifestFile]:
            file = next(iter(table.scan().plan_files())).file
            entry = _entry(file.file_path, ManifestEntryStatus.EXISTING, size=file.file_size_in_bytes)
            return [_manifest(table, [entry])]

        self._refused(world, make)

    def test_an_append_that_changes_counts_in_the_manifest_list_needs_delete_rows(self, world: CatalogHarness) -> None:
        def make(table: Table) -> list[ManifestFile]:
            manifest = _kept(table)[0]
            manifest[7] = manifest[8] = 0
            return [manifest]

        self._refused(world, make)

    def test_moving_a_branch_or_removing_a_snapshot_needs_more_than_insert(self, world: CatalogHarness) -> None:
        _mine(world).append(ROWS)
        world.rights.allow("ina", MINE, "table.select", "table.insert")
        old = _mine(world).metadata.snapshots[0]
        moved = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": old.snapshot_id}

        assert _update(world, [moved], "ina").status_code == 403
        assert _update(world, [{"action": "remove-snapshot-ref", "ref-name": "main"}], "ina").status_code == 403
        expired = {"action": "remove-snapshots", "snapshot-ids": [old.snapshot_id]}
        assert _update(world, [expired], "ina").status_code == 403
        assert _mine(world).scan().to_arrow().num_rows == 4

    def test_an_append_with_another_operation_name_needs_more_than_insert(self, world: CatalogHarness) -> None:
        world.rights.allow("ina", MINE, "table.select", "table.insert")
        table = world.iceberg("ina").load_table("raw.mine")
        manifest = _manifest(table, [_entry(f"{table.location()}/data/new.parquet")])

        assert _commit(world, table, [*_kept(table), manifest], "ina", operation="overwrite").status_code == 403
        assert _commit(world, table, [*_kept(table), manifest], "ina").status_code == 200


def _create(world: CatalogHarness, **more: Any) -> httpx.Response:
    body = {"name": "new", "schema": SCHEMA.model_dump(by_alias=True), **more}
    return world.call("POST", "/namespaces/raw/tables", body, "mallory")


def _with_default(default: dict[str, Any], *, nested: bool = False) -> dict[str, Any]:
    """Return a schema with a column that has this default, or with a struct with such a field."""
    field = {"id": 3, "name": "told", "type": "string", "required": False, **default}
    within = {"id": 4, "name": "within", "type": {"type": "struct", "fields": [field]}, "required": False}
    return {**SCHEMA.model_dump(by_alias=True), "fields": [*SCHEMA.model_dump()["fields"], within if nested else field]}


def _forbidden(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "ForbiddenException"), answer.text
