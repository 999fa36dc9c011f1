"""The specification beyond single tables: pages, versions, properties, metrics, retries, commits of several tables."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from tests.lake.catalog_harness import ADMIN, LAKE, ZSTD, CatalogHarness, served
from tests.lake.staged_table import build_create_commit

SCHEMA = Schema(NestedField(1, "n", LongType()))
ROWS = pa.table({"n": [1, 2]})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    """One world for all tests; each test has a database of its own in it."""
    with served(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture
def database(world: CatalogHarness, request: pytest.FixtureRequest) -> str:
    name = f"d{abs(hash(request.node.name))}"
    world.iceberg().create_namespace(name)
    return name


def _table(world: CatalogHarness, database: str, name: str = "t") -> Table:
    return world.iceberg().create_table((database, name), SCHEMA)


def _paged(world: CatalogHarness, path: str, size: int) -> list[list[Any]]:
    pages, token = [], ""
    while True:
        answer = world.call("GET", f"{path}?pageSize={size}&pageToken={token}").json()
        pages.append(answer.get("identifiers", answer.get("namespaces")))
        token = answer.get("next-page-token")
        if token is None:
            return pages


class TestPages:
    def test_the_pages_of_a_table_list_hold_each_table_once(self, world: CatalogHarness, database: str) -> None:
        for number in range(5):
            _table(world, database, f"t{number}")

        pages = _paged(world, f"/namespaces/{database}/tables", 2)

        assert [[each["name"] for each in page] for page in pages] == [["t0", "t1"], ["t2", "t3"], ["t4"]]
        whole = world.call("GET", f"/namespaces/{database}/tables?pageToken=").json()
        assert len(whole["identifiers"]) == 5
        assert "next-page-token" not in whole
        small = RestCatalog("lake", uri=world.url, token=ADMIN, **{"rest-page-size": "2"})
        assert len(small.list_tables(database)) == 5

    def test_a_next_page_continues_after_a_table_of_the_last_page_was_dropped(
        self, world: CatalogHarness, database: str
    ) -> None:
        for number in range(4):
            _table(world, database, f"t{number}")
        first = world.call("GET", f"/namespaces/{database}/tables?pageSize=2").json()
        world.iceberg().drop_table((database, "t1"))

        rest = world.call("GET", f"/namespaces/{database}/tables?pageToken={first['next-page-token']}").json()

        assert [each["name"] for each in rest["identifiers"]] == ["t2", "t3"]

    def test_a_page_of_namespaces_holds_only_those_that_the_caller_may_see(
        self, world: CatalogHarness, database: str
    ) -> None:
        world.rights.allow("ina", (*LAKE, database), "database.describe")
        answer = world.call("GET", "/namespaces?pageSize=5", by="ina").json()

        assert answer == {"namespaces": [[database]]}

    @pytest.mark.parametrize("query", ["pageSize=0", "pageSize=-1", "pageSize=x", "pageToken=%25", "pageToken=w6k"])
    def test_a_page_with_an_invalid_size_or_token_is_a_bad_request(
        self, world: CatalogHarness, database: str, query: str
    ) -> None:
        answer = world.call("GET", f"/namespaces/{database}/tables?{query}")

        assert answer.status_code == 400 or query == "pageToken=w6k"


class TestVersions:
    def test_a_table_that_has_not_changed_is_answered_with_304(self, world: CatalogHarness, database: str) -> None:
        table = _table(world, database)
        path = f"/namespaces/{database}/tables/t"
        first = world.call("GET", path)

        same = world.call("GET", path, if_none_match=first.headers["etag"])
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", first.headers["etag"])
        assert world.call("GET", f"{path}?snapshots=refs", if_none_match=first.headers["etag"]).status_code == 200
        assert world.call("GET", path, by="nobody", if_none_match=first.headers["etag"]).status_code == 404

        table.append(ROWS)
        changed = world.call("GET", path, if_none_match=first.headers["etag"])
        assert changed.status_code == 200
        assert changed.headers["etag"] != first.headers["etag"]

    def test_a_client_that_asks_for_refs_gets_only_referenced_snapshots(
        self, world: CatalogHarness, database: str
    ) -> None:
        table = _table(world, database)
        for _ in range(3):
            table.append(ROWS)
        path = f"/namespaces/{database}/tables/t"

        heads = world.call("GET", f"{path}?snapshots=refs").json()["metadata"]

        assert len(heads["snapshots"]) == 1
        assert heads["snapshots"][0]["snapshot-id"] == heads["current-snapshot-id"]
        assert len(world.call("GET", f"{path}?snapshots=all").json()["metadata"]["snapshots"]) == 3
        assert world.call("GET", f"{path}?snapshots=some").status_code == 400

    def test_a_guarded_session_alone_is_given_the_table_location_as_config(
        self, world: CatalogHarness, database: str
    ) -> None:
        location = _table(world, database).location()
        path = f"/namespaces/{database}/tables"

        assert world.call("GET", f"{path}/t").json()["config"] == {}
        told = world.call("GET", f"{path}/t", by=f"spark:{ADMIN}").json()
        assert told["config"] == {"headgate.location": location}
        staged = {"name": "s", "schema": SCHEMA.model_dump(), "stage-create": True}
        answer = world.call("POST", path, staged, by=f"spark:{ADMIN}").json()
        assert answer["config"] == {"headgate.location": answer["metadata"]["location"]}


class TestProperties:
    def test_the_properties_of_a_namespace_are_set_and_removed(self, world: CatalogHarness, database: str) -> None:
        catalog = world.iceberg()
        catalog.update_namespace_properties(database, updates={"a": "1", "b": "2,3"})
        summary = catalog.update_namespace_properties(database, removals={"a", "c"}, updates={"comment": "x"})

        assert (summary.removed, summary.missing, summary.updated) == (["a"], ["c"], ["comment"])
        assert catalog.load_namespace_properties(database) == {"b": "2,3", "comment": "x"}

    def test_the_properties_of_a_new_namespace_are_stored_except_the_owner(
        self, world: CatalogHarness, database: str
    ) -> None:
        world.iceberg().create_namespace(f"{database}x", {"comment": "y", "owner": "spark says so"})

        assert world.iceberg().load_namespace_properties(f"{database}x") == {"comment": "y"}

    def test_a_change_of_namespace_properties_needs_database_alter(self, world: CatalogHarness, database: str) -> None:
        body = {"updates": {"a": "1"}}
        path = f"/namespaces/{database}/properties"
        world.rights.allow("ina", (*LAKE, database), "database.describe")

        assert world.call("POST", path, body, by="ina").status_code == 403
        assert world.call("POST", path, body, by="nobody").status_code == 404
        world.rights.allow("ina", (*LAKE, database), "database.alter")
        assert world.call("POST", path, body, by="ina").status_code == 200

    def test_a_namespace_property_that_sets_a_location_is_refused(self, world: CatalogHarness, database: str) -> None:
        there = {"location": "file:///etc"}

        assert world.call("POST", f"/namespaces/{database}/properties", {"updates": there}).status_code == 403
        assert world.call("POST", "/namespaces", {"namespace": ["new"], "properties": there}).status_code == 403

    def test_a_property_cannot_be_set_and_removed_in_one_request(self, world: CatalogHarness, database: str) -> None:
        body = {"updates": {"a": "1"}, "removals": ["a"]}

        assert world.call("POST", f"/namespaces/{database}/properties", body).status_code == 422


class TestBesides:
    def test_a_metrics_report_is_accepted_only_from_a_caller_that_sees_the_table(
        self, world: CatalogHarness, database: str
    ) -> None:
        _table(world, database)
        report = {"report-type": "scan-report", "table-name": "t", "metrics": {"total": {"unit": "count", "value": 1}}}
        path = f"/namespaces/{database}/tables/t/metrics"

        assert world.call("POST", path, report).status_code == 204
        assert world.call("POST", path, report, by="nobody").status_code == 404

    def test_a_table_has_no_storage_credentials(self, world: CatalogHarness, database: str) -> None:
        _table(world, database)
        path = f"/namespaces/{database}/tables/t/credentials"

        assert world.call("GET", path).json() == {"storage-credentials": []}
        assert world.call("GET", path, by="nobody").status_code == 404

    def test_a_body_that_is_too_deep_or_no_json_is_a_bad_request(self, world: CatalogHarness, database: str) -> None:
        _table(world, database)
        deep = "[" * 100_000
        types = '{"type":"list","element-id":1,"element-required":false,"element":' * 2000 + '"int"' + "}" * 2000
        field = f'{{"id":1,"name":"n","required":false,"type":{types}}}'
        for body in ("", "{", deep, f'{{"name":"x","schema":{{"type":"struct","fields":[{field}]}}}}', "\xff"):
            answer = httpx.post(
                f"{world.url}/v1/namespaces/{database}/tables",
                content=body.encode("latin-1"),
                headers={"Authorization": f"Bearer {ADMIN}"},
            )
            assert answer.status_code == 400, answer.text


def _commit(table: Table, *updates: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"identifier": {"namespace": list(table.name()[:-1]), "name": table.name()[-1]}, "updates": updates, **more}


def _set(**properties: str) -> dict[str, Any]:
    return {"action": "set-properties", "updates": properties}


class TestSeveralTablesAtOnce:
    PATH = "/transactions/commit"

    def test_a_transaction_changes_all_its_tables_or_none(self, world: CatalogHarness, database: str) -> None:
        tables = [_table(world, database, name) for name in ("a", "b")]
        wrong = {"type": "assert-table-uuid", "uuid": str(uuid.uuid4())}
        good = [_commit(each, _set(x="1")) for each in tables]
        before = world.metadata_files()

        refused = world.call("POST", self.PATH, {"table-changes": [good[0], {**good[1], "requirements": [wrong]}]})
        assert (refused.status_code, world.metadata_files()) == (409, before)
        assert world.call("POST", self.PATH, {"table-changes": good}).status_code == 204

        assert [world.iceberg().load_table(each.name()).properties for each in tables] == [{**ZSTD, "x": "1"}] * 2

    def test_a_transaction_needs_for_each_table_the_privileges_of_a_single_commit(
        self, world: CatalogHarness, database: str
    ) -> None:
        tables = [_table(world, database, name) for name in ("a", "b")]
        body = {"table-changes": [_commit(each, _set(x="1")) for each in tables]}
        for each in tables:
            world.rights.allow("ina", (*LAKE, *each.name()), "table.select")
        world.rights.allow("ina", (*LAKE, *tables[0].name()), "table.alter")

        assert world.call("POST", self.PATH, body, by="ina").status_code == 403
        assert world.call("POST", self.PATH, body, by="nobody").status_code == 404
        world.rights.allow("ina", (*LAKE, *tables[1].name()), "table.alter")
        assert world.call("POST", self.PATH, body, by="ina").status_code == 204

    def test_a_transaction_with_a_repeated_or_new_table_is_a_bad_request(
        self, world: CatalogHarness, database: str
    ) -> None:
        table = _table(world, database)
        once = _commit(table, _set(x="1"))
        new = {**once, "requirements": [{"type": "assert-create"}]}

        cases = {"two changes of one table": [once, once], "cannot create": [new], "`identifier`": [{"updates": []}]}
        for fault, changes in cases.items():
            answer = world.call("POST", self.PATH, {"table-changes": changes})
            assert answer.status_code == 400
            assert fault in answer.json()["error"]["message"]

    def test_a_transaction_repeated_with_its_idempotency_key_is_applied_once(
        self, world: CatalogHarness, database: str
    ) -> None:
        table = _table(world, database)
        body, key = {"table-changes": [_commit(table, _set(x="1"))]}, {"idempotency_key": str(uuid.uuid4())}
        assert world.call("POST", self.PATH, body, **key).status_code == 204
        with table.refresh().transaction() as other:
            other.set_properties({"x": "2"})

        assert world.call("POST", self.PATH, body, **key).status_code == 204
        assert world.iceberg().load_table(table.name()).properties == {**ZSTD, "x": "2"}


class TestAgain:
    """Retries of a client that lost the answer."""

    def test_a_retried_append_is_in_the_table_once(self, world: CatalogHarness, database: str) -> None:
        table = _table(world, database)
        body = _appended(table)
        path = f"/namespaces/{database}/tables/t"
        first = world.call("POST", path, body)
        table.refresh().append(ROWS)

        again = world.call("POST", path, body)

        assert (first.status_code, again.status_code) == (200, 200)
        assert world.iceberg().load_table(table.name()).scan().to_arrow().num_rows == 4
        assert world.call("POST", path, body, by="nobody").status_code == 404

    def test_a_retried_schema_change_is_recognized_while_it_is_the_last_commit(
        self, world: CatalogHarness, database: str
    ) -> None:
        table = _table(world, database)
        wider = Schema(*SCHEMA.fields, NestedField(2, "m", LongType()))
        body = _commit(
            table,
            {"action": "add-schema", "schema": wider.model_dump(), "last-column-id": 2},
            {"action": "set-current-schema", "schema-id": -1},
            requirements=[{"type": "assert-current-schema-id", "current-schema-id": 0}],
        )
        path = f"/namespaces/{database}/tables/t"
        first = world.call("POST", path, body)

        again = world.call("POST", path, body)

        assert (first.status_code, again.status_code) == (200, 200)
        assert first.json()["metadata-location"] == again.json()["metadata-location"]
        with table.refresh().transaction() as other:
            other.set_properties({"x": "2"})
        assert world.call("POST", path, body).status_code == 409

    def test_a_retried_create_rename_or_drop_is_answered_like_the_first(
        self, world: CatalogHarness, database: str
    ) -> None:
        keys = [{"idempotency_key": str(uuid.uuid4())} for _ in range(3)]
        tables = f"/namespaces/{database}/tables"
        new = {"name": "t", "schema": SCHEMA.model_dump()}
        ids = [world.call("POST", tables, new, **keys[0]).json()["metadata"]["table-uuid"] for _ in range(2)]
        assert ids[0] == ids[1]
        rename = {
            "source": {"namespace": [database], "name": "t"},
            "destination": {"namespace": [database], "name": "u"},
        }
        for _ in range(2):
            assert world.call("POST", "/tables/rename", rename, **keys[1]).status_code == 204
        for _ in range(2):
            assert world.call("DELETE", f"{tables}/u", **keys[2]).status_code == 204

        # The key belongs to one caller and one request; and the table that it created does not exist any more.
        assert world.call("POST", tables, {**new, "name": "v"}, **keys[0]).status_code == 400
        assert world.call("POST", tables, new, **keys[0]).status_code == 404
        assert world.call("POST", tables, new, by="nobody", **keys[0]).status_code == 404

    def test_a_retried_staged_create_succeeds_although_the_table_has_new_commits(
        self, world: CatalogHarness, database: str
    ) -> None:
        new = {"name": "t", "schema": SCHEMA.model_dump(), "stage-create": True}
        metadata = world.call("POST", f"/namespaces/{database}/tables", new).json()["metadata"]
        body, key = build_create_commit(metadata), {"idempotency_key": str(uuid.uuid4())}
        path = f"/namespaces/{database}/tables/t"
        assert world.call("POST", path, body, **key).status_code == 200
        world.iceberg().load_table((database, "t")).append(ROWS)

        assert world.call("POST", path, body).status_code == 403
        again = world.call("POST", path, body, **key)
        assert (again.status_code, len(again.json()["metadata"]["snapshots"])) == (200, 1)

    def test_a_retried_create_or_drop_of_a_namespace_succeeds(self, world: CatalogHarness, database: str) -> None:
        made, dropped = ({"idempotency_key": str(uuid.uuid4())} for _ in range(2))
        for _ in range(2):
            assert world.call("POST", "/namespaces", {"namespace": [f"{database}y"]}, **made).status_code == 200
        for _ in range(2):
            assert world.call("DELETE", f"/namespaces/{database}y", **dropped).status_code == 204


def _appended(table: Table) -> dict[str, Any]:
    """Return the request body with which a client appends rows, without sending it."""
    with table.transaction() as transaction:
        transaction.append(ROWS)
        updates, requirements = transaction._updates, transaction._requirements
        body = _commit(
            table,
            *(each.model_dump(mode="json") for each in updates),
            requirements=[each.model_dump(mode="json") for each in requirements],
        )
        transaction._updates = transaction._requirements = ()
    return body


class TestRegistering:
    def _dropped(self, world: CatalogHarness, database: str) -> str:
        table = _table(world, database)
        table.append(ROWS)
        path = world.iceberg().load_table(table.name()).metadata_location
        world.iceberg().drop_table(table.name())
        return path

    def test_a_dropped_table_can_be_registered_again_once(self, world: CatalogHarness, database: str) -> None:
        path = self._dropped(world, database)

        back = world.iceberg().register_table((database, "back"), path)

        assert back.scan().to_arrow().num_rows == 2
        # The files belong to a table now.
        again = world.call("POST", f"/namespaces/{database}/register", {"name": "more", "metadata-location": path})
        assert again.status_code == 403

    def test_registering_a_table_needs_register_table_and_create_table(
        self, world: CatalogHarness, database: str
    ) -> None:
        body = {"name": "back", "metadata-location": self._dropped(world, database)}
        path = f"/namespaces/{database}/register"
        world.rights.allow("ina", (*LAKE, database), "*")
        assert world.call("POST", path, body, by="ina").status_code in (403, 404)
        world.rights.allow("reg", LAKE, "lake.register_table", "database.describe")
        assert world.call("POST", path, body, by="reg").status_code == 403
        world.rights.allow("reg", (*LAKE, database), "database.create_table")
        assert world.call("POST", path, body, by="reg").status_code == 200

    @pytest.mark.parametrize(
        "path",
        [
            "file:///etc/passwd",
            "",
            "nonsense",
            "s3://bucket/d/t/metadata/0.metadata.json",
            "{table}/../{table}/metadata/0.metadata.json",
            "{table}/data/metadata/0.metadata.json",
            "{table}/metadata/absent.metadata.json",
        ],
    )
    def test_registering_a_file_that_is_no_metadata_of_a_dropped_table_is_refused(
        self, world: CatalogHarness, database: str, path: str
    ) -> None:
        table = self._dropped(world, database).rpartition("/metadata/")[0]
        body = {"name": "back", "metadata-location": path.format(table=table)}

        assert world.call("POST", f"/namespaces/{database}/register", body).status_code in (400, 403, 404)
        assert not world.iceberg().table_exists((database, "back"))

    def test_registering_metadata_that_names_files_of_another_table_is_refused(
        self, world: CatalogHarness, database: str
    ) -> None:
        mine = Path(self._dropped(world, database).removeprefix("file://"))
        other = _table(world, database, "other")
        other.append(ROWS)
        stolen = other.refresh().current_snapshot()
        assert stolen is not None
        text = mine.read_text()
        own = world.iceberg().load_table(other.name()).metadata.snapshots[0].manifest_list
        start = text.index('"manifest-list":"') + len('"manifest-list":"')
        mine.write_text(text[:start] + own + text[text.index('"', start) :])
        body = {"name": "back", "metadata-location": f"file://{mine}"}

        assert world.call("POST", f"/namespaces/{database}/register", body).status_code == 403


class TestReplacing:
    """`CREATE OR REPLACE TABLE` arrives as a commit that starts the table over."""

    def _replacing(self, table: Table) -> dict[str, Any]:
        return _commit(
            table,
            {"action": "remove-snapshot-ref", "ref-name": "main"},
            {"action": "set-properties", "updates": {"new": "1"}},
        )

    def test_replacing_a_table_needs_the_privileges_to_drop_and_create_it(
        self, world: CatalogHarness, database: str
    ) -> None:
        table = _table(world, database)
        table.append(ROWS)
        name, path = (*LAKE, database, "t"), f"/namespaces/{database}/tables/t"
        world.rights.allow("ina", name, "table.drop")
        assert world.call("POST", path, self._replacing(table), by="spark:ina").status_code == 403
        world.rights.allow("ina", name[:-1], "database.create_table")

        assert world.call("POST", path, self._replacing(table), by="ina").status_code == 403
        assert world.call("POST", path, self._replacing(table), by="spark:ina").status_code == 200

    def test_a_commit_that_replaces_nothing_is_not_allowed_by_drop_and_create(
        self, world: CatalogHarness, database: str
    ) -> None:
        table = _table(world, database)
        table.append(ROWS)
        world.rights.allow("ina", (*LAKE, database, "t"), "table.drop")
        world.rights.allow("ina", (*LAKE, database), "database.create_table")
        path = f"/namespaces/{database}/tables/t"

        assert world.call("POST", path, _commit(table, _set(x="1")), by="spark:ina").status_code == 403
        assert world.call("POST", path, _appended(table), by="spark:ina").status_code == 403


@pytest.mark.parametrize("key", ["current-snapshot-id", "cherry-pick-snapshot-id", "Current-Snapshot-Id ", "uuid"])
def test_a_property_that_names_a_snapshot_or_uuid_is_refused(world: CatalogHarness, database: str, key: str) -> None:
    table = _table(world, database)

    answer = world.call("POST", f"/namespaces/{database}/tables/t", _commit(table, _set(**{key: "1"})))

    assert answer.status_code == 403
