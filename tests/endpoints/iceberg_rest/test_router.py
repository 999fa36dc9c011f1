"""The Iceberg REST catalog, called by a real client and by crafted requests."""

import contextlib
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import (
    CommitFailedException,
    ForbiddenError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from headgate.control.control import WriteResult
from headgate.control.kernel.command import Command
from headgate.facts.ids import ResourceId
from tests.lake.catalog_harness import ADMIN, LAKE, ZSTD, CatalogHarness, WriteChanges, served

ROWS = pa.table({"carrier": ["AA", "B/6"], "flight": [1, 2]})
SCHEMA = Schema(NestedField(1, "carrier", StringType()), NestedField(2, "flight", LongType()))
RAW = (*LAKE, "raw")
FLIGHTS = (*RAW, "flights")
SEEING = ("lake.describe", "database.describe", "table.describe")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CatalogHarness]:
    with served(tmp_path) as made:
        made.iceberg().create_namespace("raw")
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    """A world with one table, for tests that change nothing."""
    with served(tmp_path_factory.mktemp("world")) as made:
        made.iceberg().create_namespace("raw")
        made.iceberg().create_table("raw.flights", SCHEMA)
        yield made


class TestWorkingWithTables:
    """The usual operations of a client."""

    def test_a_client_appends_rows_and_reads_them_back(self, world: CatalogHarness) -> None:
        table = world.iceberg().create_table("raw.flights", SCHEMA)
        table.append(ROWS)
        table.append(ROWS)

        read = world.iceberg().load_table("raw.flights")

        assert read.scan().to_arrow().num_rows == 4
        assert str(read.metadata.table_uuid) == world.rights.find(FLIGHTS)
        assert read.location().endswith(f"/warehouse/organization/{world.rights.find(RAW)}/{read.metadata.table_uuid}")
        assert read.metadata_location.rpartition("/")[2].startswith("00002-")
        assert len(read.metadata.metadata_log) == 2

    def test_a_partition_value_that_needs_escaping_is_found_by_a_filter(self, world: CatalogHarness) -> None:
        spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "carrier"))
        table = world.iceberg().create_table("raw.flights", SCHEMA, partition_spec=spec)

        table.append(ROWS)

        assert table.scan(row_filter="carrier = 'B/6'").to_arrow().num_rows == 1

    def test_a_client_deletes_and_overwrites_rows(self, world: CatalogHarness) -> None:
        table = world.iceberg().create_table("raw.flights", SCHEMA)
        table.append(ROWS)
        table.delete("flight = 1")
        assert table.scan().to_arrow().num_rows == 1
        table.overwrite(ROWS)
        assert table.scan().to_arrow().num_rows == 2

    def test_a_client_changes_the_schema_and_the_properties_of_a_table(self, world: CatalogHarness) -> None:
        table = world.iceberg().create_table("raw.flights", SCHEMA, properties={"owner": "me"})
        with table.update_schema() as update:
            update.add_column("dest", StringType())
        with table.transaction() as transaction:
            transaction.set_properties({"a": "1"})
            transaction.remove_properties("owner")

        again = world.iceberg().load_table("raw.flights")

        assert again.schema().column_names == ["carrier", "flight", "dest"]
        assert again.properties == {**ZSTD, "a": "1"}

    def test_a_table_created_in_a_transaction_appears_with_its_rows(self, world: CatalogHarness) -> None:
        with world.iceberg().create_table_transaction("raw.flights", SCHEMA, properties={"a": "1"}) as transaction:
            assert not world.iceberg().table_exists("raw.flights")
            transaction.append(ROWS)

        table = world.iceberg().load_table("raw.flights")
        assert table.scan().to_arrow().num_rows == 2
        assert str(table.metadata.table_uuid) == world.rights.find(FLIGHTS)
        assert table.properties == {**ZSTD, "a": "1"}

    def test_a_client_renames_lists_and_drops_a_table(self, world: CatalogHarness) -> None:
        catalog = world.iceberg()
        catalog.create_namespace("trusted")
        table = catalog.create_table("raw.flights", SCHEMA)
        table.append(ROWS)

        catalog.rename_table("raw.flights", "trusted.vols")

        assert catalog.list_namespaces() == [("raw",), ("trusted",)]
        assert catalog.list_tables("trusted") == [("trusted", "vols")]
        assert catalog.list_tables("raw") == []
        moved = catalog.load_table("trusted.vols")
        moved.append(ROWS)
        assert moved.scan().to_arrow().num_rows == 4
        catalog.drop_table("trusted.vols")
        assert not catalog.table_exists("trusted.vols")
        assert world.rights.store.pointer(ResourceId(str(table.metadata.table_uuid))) is None
        assert world.data_files()

    def test_a_purge_deletes_the_files_of_its_table_and_no_others(self, world: CatalogHarness) -> None:
        catalog = world.iceberg()
        kept = catalog.create_table("raw.kept", SCHEMA)
        kept.append(ROWS)
        catalog.create_table("raw.flights", SCHEMA).append(ROWS)

        catalog.purge_table("raw.flights")

        # The answer does not wait for the deletion of the files.
        for _ in range(100):
            if len(world.data_files()) == 1:
                break
            time.sleep(0.05)
        assert len(world.data_files()) == 1
        assert kept.scan().to_arrow().num_rows == 2

    def test_a_namespace_can_be_dropped_only_when_it_is_empty(self, world: CatalogHarness) -> None:
        catalog = world.iceberg()
        catalog.create_table("raw.flights", SCHEMA)
        with pytest.raises(NamespaceNotEmptyError):
            catalog.drop_namespace("raw")
        catalog.drop_table("raw.flights")
        catalog.drop_namespace("raw")
        assert not catalog.namespace_exists("raw")

    def test_a_create_or_rename_to_a_taken_name_is_refused(self, world: CatalogHarness) -> None:
        catalog = world.iceberg()
        catalog.create_table("raw.flights", SCHEMA)
        catalog.create_table("raw.other", SCHEMA)
        before = world.metadata_files()

        with pytest.raises(TableAlreadyExistsError):
            catalog.create_table("raw.flights", SCHEMA)
        with pytest.raises(TableAlreadyExistsError):
            catalog.rename_table("raw.other", "raw.flights")
        with pytest.raises(NamespaceAlreadyExistsError):
            catalog.create_namespace("raw")
        assert world.metadata_files() == before

    def test_a_commit_with_a_requirement_that_does_not_hold_is_a_conflict(self, world: CatalogHarness) -> None:
        table = world.iceberg().create_table("raw.flights", SCHEMA)
        table.append(ROWS)
        before = world.metadata_files()
        updates = [{"action": "set-properties", "updates": {"a": "1"}}]
        for requirement in (
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1},
            {"type": "assert-table-uuid", "uuid": str(uuid.uuid4())},
            {"type": "assert-current-schema-id", "current-schema-id": 7},
        ):
            body = {"requirements": [requirement], "updates": updates}
            answer = world.call("POST", "/namespaces/raw/tables/flights", body)
            assert (answer.status_code, answer.json()["error"]["type"]) == (409, "CommitFailedException")
        assert world.metadata_files() == before

    def test_concurrent_writers_lose_no_acknowledged_commit(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.flights", SCHEMA, properties={"commit.retry.num-retries": "0"})
        acknowledged: list[int] = []

        def write() -> None:
            with contextlib.suppress(CommitFailedException):
                world.iceberg().load_table("raw.flights").append(ROWS)
                acknowledged.append(1)

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        table = world.iceberg().load_table("raw.flights")
        assert table.scan().to_arrow().num_rows == 2 * len(acknowledged) >= 2
        # One file of the create, and one for each commit; the files of commits that lost a race were removed.
        assert len(world.metadata_files()) == 1 + len(acknowledged)


class TestWhoMayDoWhat:
    """The organization decides; the endpoint only converts decisions to answers."""

    @pytest.fixture(autouse=True)
    def _table(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.flights", SCHEMA).append(ROWS)

    def test_a_request_without_a_token_is_unauthorized(self, world: CatalogHarness) -> None:
        for path in ("/config", "/namespaces", "/namespaces/raw/tables/flights", "/nonsense"):
            answer = world.call("GET", path, by="")
            assert (answer.status_code, answer.json()["error"]["type"]) == (401, "NotAuthorizedException")

    def test_a_caller_with_select_reads_a_table_and_cannot_append_to_it(self, world: CatalogHarness) -> None:
        world.rights.allow("rita", FLIGHTS, "table.select")
        table = world.iceberg("rita").load_table("raw.flights")

        assert table.scan().to_arrow().num_rows == 2
        with pytest.raises(ForbiddenError, match=r"`table\.insert` on `lake\.raw\.flights` is not allowed"):
            table.append(ROWS)

    def test_a_caller_with_describe_sees_that_a_table_exists_and_cannot_load_it(self, world: CatalogHarness) -> None:
        world.rights.allow("dora", FLIGHTS, "table.describe")

        assert world.iceberg("dora").table_exists("raw.flights")
        with pytest.raises(ForbiddenError, match=r"table\.select"):
            world.iceberg("dora").load_table("raw.flights")
        world.iceberg("spark:dora").load_table("raw.flights")

    @pytest.mark.parametrize(
        ("verb", "needed"),
        [
            ("append", {"table.select", "table.insert"}),
            ("delete", {"table.select", "table.insert", "table.update", "table.delete_rows"}),
            ("overwrite", {"table.select", "table.insert", "table.update", "table.delete_rows"}),
            ("alter", {"table.select", "table.alter"}),
            ("properties", {"table.select", "table.alter"}),
            ("rollback", {"table.select", "table.insert", "table.update", "table.delete_rows", "table.alter"}),
            ("tag", {"table.select", "table.alter"}),
        ],
    )
    def test_a_commit_needs_what_its_changes_need(self, world: CatalogHarness, verb: str, needed: set[str]) -> None:
        world.iceberg().load_table("raw.flights").append(ROWS)
        for missing in needed:
            person = f"no-{missing}"
            world.rights.allow(person, FLIGHTS, *(needed - {missing}))
            with pytest.raises(ForbiddenError):
                _do(world, person, verb)
        world.rights.allow("able", FLIGHTS, *needed)
        _do(world, "able", verb)

    def test_a_hidden_namespace_or_table_is_answered_like_a_missing_one(self, world: CatalogHarness) -> None:
        world.iceberg().create_namespace("secret")
        world.iceberg().create_table("secret.salaries", SCHEMA)
        world.rights.allow("vera", RAW, "database.describe", "database.create_table", "table.select")
        commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "1"}}]}
        staged = {"requirements": [{"type": "assert-create"}], "updates": []}
        create = {"name": "t", "schema": SCHEMA.model_dump(by_alias=True)}
        asked = [
            ("GET", "/namespaces/{db}", None),
            ("GET", "/namespaces?parent={db}", None),
            ("HEAD", "/namespaces/{db}", None),
            ("DELETE", "/namespaces/{db}", None),
            ("GET", "/namespaces/{db}/tables", None),
            ("POST", "/namespaces/{db}/tables", create),
            ("POST", "/namespaces/{db}/tables", {**create, "stage-create": True}),
            ("GET", "/namespaces/{db}/tables/{t}", None),
            ("HEAD", "/namespaces/{db}/tables/{t}", None),
            ("DELETE", "/namespaces/{db}/tables/{t}", None),
            ("DELETE", "/namespaces/{db}/tables/{t}?purgeRequested=true", None),
            ("POST", "/namespaces/{db}/tables/{t}", commit),
            ("POST", "/namespaces/{db}/tables/{t}", staged),
        ]
        for token in ("vera", "spark:vera", "stranger"):
            for method, path, body in asked:
                hidden = world.call(method, path.format(db="secret", t="salaries"), body, token)
                missing = world.call(method, path.format(db="absent", t="nothings"), body, token)
                assert hidden.status_code == missing.status_code == 404, (method, path, hidden.text)
                assert hidden.text.replace("secret", "absent").replace("salaries", "nothings") == missing.text

    def test_a_rename_from_or_into_a_hidden_place_is_answered_like_a_missing_one(self, world: CatalogHarness) -> None:
        world.iceberg().create_namespace("secret")
        world.iceberg().create_table("secret.salaries", SCHEMA)
        world.rights.allow("rena", FLIGHTS, "table.alter", "table.drop", "table.select")

        def rename(source: list[str], target: list[str]) -> str:
            answer = world.call("POST", "/tables/rename", _renaming(source, target), "rena")
            assert answer.status_code == 404
            return answer.text.replace("secret", "absent").replace("salaries", "nothings")

        assert rename(["secret", "salaries"], ["raw", "x"]) == rename(["absent", "nothings"], ["raw", "x"])
        assert rename(["raw", "flights"], ["secret", "x"]) == rename(["raw", "flights"], ["absent", "x"])

    def test_a_list_shows_only_resources_that_the_caller_may_see(self, world: CatalogHarness) -> None:
        world.iceberg().create_namespace("secret")
        world.iceberg().create_table("raw.other", SCHEMA)
        world.rights.allow("vera", RAW, "database.describe")
        world.rights.allow("vera", FLIGHTS, "table.select")

        assert world.iceberg("vera").list_namespaces() == [("raw",)]
        assert world.iceberg("vera").list_tables("raw") == [("raw", "flights")]
        assert world.iceberg("stranger").list_namespaces() == []

    def test_a_refusal_on_a_visible_resource_names_the_missing_action(self, world: CatalogHarness) -> None:
        world.rights.allow("vera", RAW, "database.describe")
        world.rights.allow("vera", FLIGHTS, "table.select")
        world.rights.allow("vera", LAKE, "lake.describe")
        catalog = world.iceberg("vera")

        with pytest.raises(ForbiddenError, match=r"database\.create_table"):
            catalog.create_table("raw.mine", SCHEMA)
        with pytest.raises(ForbiddenError, match=r"table\.drop"):
            catalog.drop_table("raw.flights")
        with pytest.raises(ForbiddenError, match=r"table\.alter"):
            catalog.rename_table("raw.flights", "raw.mine")
        with pytest.raises(ForbiddenError, match=r"database\.drop"):
            catalog.drop_namespace("raw")
        with pytest.raises(ForbiddenError, match=r"lake\.create_database"):
            catalog.create_namespace("mine")

    @pytest.mark.parametrize(("kept", "status"), [(SEEING, 403), ((), 404)], ids=["known", "hidden"])
    def test_a_command_refused_after_the_check_changes_nothing(
        self, world: CatalogHarness, monkeypatch: pytest.MonkeyPatch, kept: tuple[str, ...], status: int
    ) -> None:
        rights, execute = world.rights, world.rights.control.execute

        def revoke_and_execute(command: Command, *others: Any) -> WriteResult:
            if not isinstance(command, WriteChanges):
                rights.revoke(ADMIN, *kept)
            return execute(command, *others)

        monkeypatch.setattr(rights.control, "execute", revoke_and_execute)
        before = rights.control.snapshot.resources, world.metadata_files()
        new = {"name": "new", "schema": SCHEMA.model_dump(by_alias=True)}
        asked = [
            ("POST", "/namespaces/raw/tables", new, "database.create_table"),
            ("DELETE", "/namespaces/raw/tables/flights?purgeRequested=true", None, "table.drop"),
            ("DELETE", "/namespaces/raw", None, "database.drop"),
            ("POST", "/namespaces", {"namespace": ["new"]}, "lake.create_database"),
            ("POST", "/tables/rename", _renaming(["raw", "flights"], ["raw", "new"]), "table.alter"),
        ]

        for method, path, body, action in asked:
            rights.allow(ADMIN, LAKE, "*")
            answer = world.call(method, path, body)

            assert (answer.status_code, action in answer.text) == (status, status == 403), answer.text
            assert (rights.control.snapshot.resources, world.metadata_files()) == before

    def test_a_guarded_session_needs_the_privilege_for_each_part_of_its_commit(self, world: CatalogHarness) -> None:
        world.rights.allow("ina", FLIGHTS, "table.insert")
        world.rights.allow("dela", FLIGHTS, "table.delete_rows")
        world.rights.allow("both", FLIGHTS, "table.insert", "table.delete_rows")

        _do(world, "spark:ina", "append")
        with pytest.raises(ForbiddenError, match=r"table\.delete_rows"):
            _do(world, "spark:ina", "overwrite")
        with pytest.raises(ForbiddenError, match=r"table\.insert"):
            _do(world, "spark:dela", "append")
        _do(world, "spark:both", "overwrite")
        with pytest.raises(ForbiddenError, match=r"table\.alter"):
            _do(world, "spark:both", "alter")


def _renaming(source: list[str], target: list[str]) -> dict[str, Any]:
    ends = {"source": source, "destination": target}
    return {end: {"namespace": name[:1], "name": name[1]} for end, name in ends.items()}


def _do(world: CatalogHarness, token: str, verb: str) -> None:
    table = world.iceberg(token).load_table("raw.flights")
    if verb == "append":
        table.append(ROWS)
    elif verb == "delete":
        table.delete("flight = 1")
    elif verb == "overwrite":
        table.overwrite(ROWS)
    elif verb == "alter":
        with table.update_schema() as update:
            update.add_column("dest", StringType())
    elif verb == "properties":
        with table.transaction() as transaction:
            transaction.set_properties({"a": "1"})
    elif verb == "tag":
        table.manage_snapshots().create_tag(table.metadata.snapshots[0].snapshot_id, "first").commit()
    elif verb == "rollback":
        table.manage_snapshots().rollback_to_snapshot(table.metadata.snapshots[0].snapshot_id).commit()


class TestByHand:
    """Requests that no correct client sends; none of them changes anything."""

    @pytest.fixture
    def world(self, shared: CatalogHarness) -> CatalogHarness:
        return shared

    def test_the_config_lists_the_served_endpoints_and_no_others(self, world: CatalogHarness) -> None:
        answer = world.call("GET", "/config?warehouse=lake").json()

        assert answer["overrides"] == answer["defaults"] == {}
        assert len(answer["endpoints"]) == 24
        assert "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}" in answer["endpoints"]
        assert "POST /v1/{prefix}/tables/rename" in answer["endpoints"]
        assert not any("/plan" in endpoint or "/sign" in endpoint for endpoint in answer["endpoints"])

    @pytest.mark.parametrize(
        "path",
        [
            "/nonsense",
            "/namespaces/raw/functions",
            "/namespaces/raw/tables/a/b",
            "/namespaces//tables/a",
            "/transactions",
            "/namespaces/raw%2Ftables%2Fflights",
        ],
    )
    def test_an_unknown_path_is_answered_with_an_iceberg_error(self, world: CatalogHarness, path: str) -> None:
        for method in ("GET", "POST", "DELETE", "PUT"):
            answer = world.call(method, path)
            assert answer.status_code == 404
            assert answer.json()["error"]["code"] == 404

    @pytest.mark.parametrize("name", ["", ".", "a.b", "a/b", "a*", "a\\b", "a\nb", "a\x1fb", " a", "x" * 256, "a`"])
    def test_an_invalid_name_of_a_namespace_or_table_is_a_bad_request(self, world: CatalogHarness, name: str) -> None:
        schema = SCHEMA.model_dump(by_alias=True)
        assert world.call("POST", "/namespaces", {"namespace": [name]}).status_code == 400
        assert world.call("POST", "/namespaces/raw/tables", {"name": name, "schema": schema}).status_code == 400
        body = {"name": name, "schema": schema, "stage-create": True}
        assert world.call("POST", "/namespaces/raw/tables", body).status_code == 400

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("/namespaces", None),
            ("/namespaces", []),
            ("/namespaces", {"namespace": []}),
            ("/namespaces", {"namespace": ["a", "b"]}),
            ("/namespaces", {"namespace": ["a"], "properties": {"comment": 1}}),
            ("/namespaces/raw/properties", {"updates": {"owner": "me"}}),
            ("/namespaces/raw/register", {"name": "new"}),
            ("/namespaces/raw/tables/flights/metrics", {}),
            ("/namespaces/raw/views", {"name": "v", "schema": {"type": "struct", "fields": []}}),
            ("/transactions/commit", {"table-changes": []}),
            ("/transactions/commit", {"table-changes": [{"updates": []}]}),
            ("/namespaces/raw/tables", {"name": "t"}),
            ("/namespaces/raw/tables", {"name": "t", "schema": {"type": "struct", "fields": [{"id": 1}]}}),
            ("/namespaces/raw/tables/flights", {"requirements": []}),
            ("/namespaces/raw/tables/flights", {"updates": [{"action": "set-the-house-on-fire"}]}),
            ("/namespaces/raw/tables/flights", {"updates": [], "requirements": [{"type": "assert-luck"}]}),
            ("/namespaces/raw/tables/flights", {"updates": [{"action": "set-current-schema", "schema-id": 9}]}),
            ("/namespaces/raw/tables/flights", {"updates": [{"action": "remove-snapshots", "snapshot-ids": [9]}]}),
            (
                "/namespaces/raw/tables/flights",
                {"updates": [{"action": "upgrade-format-version", "format-version": 9}]},
            ),
            ("/namespaces/raw/tables/flights", {"updates": [], "identifier": {"namespace": ["raw"], "name": "x"}}),
        ],
    )
    def test_a_malformed_or_wrong_body_is_a_bad_request(self, world: CatalogHarness, path: str, body: object) -> None:
        answer = world.call("POST", path, body)

        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "BadRequestException")

    def test_a_metadata_table_in_a_nested_namespace_is_a_missing_table(self, world: CatalogHarness) -> None:
        answer = world.call("GET", "/namespaces/raw%1Fflights/tables/files")

        assert answer.json()["error"]["type"] == "NoSuchTableException"

    def test_an_unknown_table_or_namespace_is_missing_for_an_admin_too(self, world: CatalogHarness) -> None:
        with pytest.raises(NoSuchTableError):
            world.iceberg().load_table("raw.absent")
        with pytest.raises(NoSuchNamespaceError):
            world.iceberg().list_tables("absent")
