"""Views at the REST catalog, with a real client and with crafted requests. A view grants nothing: it is only a text."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pyiceberg.exceptions import NoSuchTableError, NoSuchViewError, ViewAlreadyExistsError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from pyiceberg.view.metadata import ViewVersion

from tests.lake.catalog_harness import LAKE, CatalogHarness, served

SCHEMA = Schema(NestedField(1, "carrier", StringType()), NestedField(2, "flight", LongType()))
SQL = {"type": "sql", "sql": "SELECT 1", "dialect": "spark"}
RAW = (*LAKE, "raw")
VIEW = (*RAW, "v")


def version(sql: str = "SELECT carrier FROM raw.flights", **more: Any) -> dict[str, Any]:
    return {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": 1,
        "summary": {"engine-name": "spark"},
        "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
        "default-namespace": ["raw"],
        **more,
    }


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    with served(tmp_path_factory.mktemp("world")) as made:
        made.iceberg().create_namespace("raw")
        yield made


@pytest.fixture
def world(shared: CatalogHarness) -> Iterator[CatalogHarness]:
    """A world with one new view, on which only the admin has privileges."""
    assert _create(shared).status_code == 200
    yield shared
    shared.rights.revoke_from_others()
    catalog = shared.iceberg()
    for namespace in catalog.list_namespaces():
        for view in catalog.list_views(namespace):
            catalog.drop_view(view)
        for table in catalog.list_tables(namespace):
            catalog.drop_table(table)


def _create(world: CatalogHarness, name: str = "v", by: str = "admin", **more: Any) -> httpx.Response:
    body = {"name": name, "schema": SCHEMA.model_dump(), "view-version": version(), "properties": {}, **more}
    return world.call("POST", "/namespaces/raw/views", body, by)


def _commit(world: CatalogHarness, updates: list[dict[str, Any]], by: str = "admin", **headers: str) -> httpx.Response:
    uuid = str(world.rights.find(VIEW))
    body = {"requirements": [{"type": "assert-view-uuid", "uuid": uuid}], "updates": updates}
    return world.call("POST", "/namespaces/raw/views/v", body, by, **headers)


def _replaced(sql: str) -> list[dict[str, Any]]:
    """Return the updates with which Iceberg's Java client replaces a view."""
    return [
        {"action": "add-schema", "schema": SCHEMA.model_dump(), "last-column-id": 2},
        {"action": "add-view-version", "view-version": {**version(sql), "schema-id": -1, "version-id": 2}},
        {"action": "set-current-view-version", "view-version-id": -1},
    ]


class TestWorkingWithViews:
    def test_a_real_client_creates_lists_loads_and_drops_views(self, world: CatalogHarness) -> None:
        catalog = world.iceberg()
        catalog.create_table("raw.flights", SCHEMA)

        made = catalog.create_view("raw.w", SCHEMA, ViewVersion.model_validate(version()))

        assert str(made.uuid()) == world.rights.find((*RAW, "w"))
        assert catalog.list_views("raw") == [("raw", "v"), ("raw", "w")]
        assert catalog.list_tables("raw") == [("raw", "flights")]
        assert catalog.view_exists("raw.w")
        assert not catalog.view_exists("raw.flights")
        loaded = catalog.load_view("raw.w").sql_for("spark")
        assert loaded is not None
        assert loaded.sql == "SELECT carrier FROM raw.flights"
        with pytest.raises(ViewAlreadyExistsError):
            catalog.create_view("raw.flights", SCHEMA, ViewVersion.model_validate(version()))
        catalog.drop_view("raw.w")
        with pytest.raises(NoSuchViewError):
            catalog.drop_view("raw.w")

    def test_a_view_cannot_be_used_as_a_table_nor_a_table_as_a_view(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.flights", SCHEMA)

        with pytest.raises(NoSuchTableError):
            world.iceberg().load_table("raw.v")
        with pytest.raises(NoSuchTableError):
            world.iceberg().drop_table("raw.v")
        with pytest.raises(NoSuchViewError):
            world.iceberg().load_view("raw.flights")
        assert _create(world, "flights").status_code == 409
        assert world.call("DELETE", "/namespaces/raw/views/flights").status_code == 404

    def test_a_replaced_view_retains_its_uuid_and_its_history(self, world: CatalogHarness) -> None:
        metadata = _commit(world, _replaced("SELECT 1")).json()["metadata"]

        assert metadata["view-uuid"] == world.rights.find(VIEW)
        assert metadata["current-version-id"] == 2
        assert [each["schema-id"] for each in metadata["versions"]] == [0, 0]
        assert [each["version-id"] for each in metadata["version-log"]] == [1, 2]
        again = _commit(world, _replaced("SELECT carrier FROM raw.flights")).json()["metadata"]
        assert again["current-version-id"] == 1

    def test_a_view_retains_its_last_10_versions(self, world: CatalogHarness) -> None:
        for number in range(12):
            assert _commit(world, _replaced(f"SELECT {number}")).status_code == 200

        metadata = world.call("GET", "/namespaces/raw/views/v").json()["metadata"]
        assert len(metadata["versions"]) == 10
        assert metadata["current-version-id"] == 13

    def test_the_properties_of_a_view_are_set_and_removed(self, world: CatalogHarness) -> None:
        _commit(world, [{"action": "set-properties", "updates": {"comment": "x", "a": "1"}}])
        metadata = _commit(world, [{"action": "remove-properties", "removals": ["a"]}]).json()["metadata"]

        assert metadata["properties"] == {"comment": "x"}

    def test_a_renamed_view_retains_its_uuid(self, world: CatalogHarness) -> None:
        world.iceberg().create_namespace("trusted")
        view = world.rights.find(VIEW)
        body = {
            "source": {"namespace": ["raw"], "name": "v"},
            "destination": {"namespace": ["trusted"], "name": "w"},
        }

        assert world.call("POST", "/tables/rename", body).status_code == 404
        assert world.call("POST", "/views/rename", body).status_code == 204

        assert world.call("GET", "/namespaces/trusted/views/w").json()["metadata"]["view-uuid"] == view


class TestRules:
    @pytest.mark.parametrize("key", ["initial-default", "write-default"])
    def test_a_view_column_with_a_default_is_refused(self, world: CatalogHarness, key: str) -> None:
        field = {"id": 1, "name": "told", "type": "string", "required": False, key: "session_user()"}
        schema = {"type": "struct", "schema-id": 1, "fields": [field]}

        assert _create(world, "w", schema=schema).status_code == 403
        assert _commit(world, [{"action": "add-schema", "schema": schema}]).status_code == 403

    @pytest.mark.parametrize(
        "update",
        [
            {"action": "assign-uuid", "uuid": "00000000-0000-0000-0000-000000000000"},
            {"action": "set-location", "location": "file:///etc"},
            {"action": "upgrade-format-version", "format-version": 2},
            {"action": "set-properties", "updates": {"write.metadata.path": "/etc"}},
        ],
    )
    def test_a_client_cannot_change_the_identity_or_the_location_of_a_view(
        self, world: CatalogHarness, update: dict[str, Any]
    ) -> None:
        assert _commit(world, [update]).status_code == 403

    @pytest.mark.parametrize(
        ("update", "fault"),
        [
            ({"action": "set-current-view-version", "view-version-id": -1}, "adds no version"),
            (
                {"action": "set-current-view-version", "view-version-id": 9},
                "the version 9, which the view does not have",
            ),
            ({"action": "add-view-version", "view-version": {**version(), "schema-id": 9}}, "add that schema first"),
            ({"action": "add-view-version", "view-version": version(representations=[])}, "has no SQL query"),
            ({"action": "add-view-version", "view-version": version(representations=[SQL, SQL])}, "of one dialect"),
            ({"action": "add-snapshot"}, "is invalid"),
        ],
    )
    def test_a_view_update_that_is_invalid_is_a_bad_request(
        self, world: CatalogHarness, update: dict[str, Any], fault: str
    ) -> None:
        answer = _commit(world, [update])
        assert answer.status_code == 400
        assert fault in answer.json()["error"]["message"]

    def test_a_view_location_that_the_client_chooses_is_refused(self, world: CatalogHarness) -> None:
        assert _create(world, "w", location="file:///etc").status_code == 403

    def test_a_commit_based_on_a_dropped_view_of_the_same_name_is_a_conflict(self, world: CatalogHarness) -> None:
        old = world.rights.find(VIEW)
        world.iceberg().drop_view("raw.v")
        _create(world)

        body = {"requirements": [{"type": "assert-view-uuid", "uuid": old}], "updates": _replaced("SELECT 2")}

        assert world.call("POST", "/namespaces/raw/views/v", body).status_code == 409


class TestRights:
    """The privileges that each call needs; a refusal reveals no more than the missing privilege, or nothing at all."""

    @pytest.mark.parametrize("action", ["table.describe", "table.select"])
    def test_loading_a_view_needs_describe_or_select(self, world: CatalogHarness, action: str) -> None:
        assert world.call("GET", "/namespaces/raw/views/v", by="ina").status_code == 404
        world.rights.allow("ina", VIEW, "table.drop")
        assert world.call("GET", "/namespaces/raw/views/v", by="ina").status_code == 403
        world.rights.allow("ina", VIEW, action)
        assert world.call("GET", "/namespaces/raw/views/v", by="ina").status_code == 200

    def test_a_guarded_session_loads_any_view_that_its_user_sees(self, world: CatalogHarness) -> None:
        world.rights.allow("ina", VIEW, "table.drop")
        assert world.call("GET", "/namespaces/raw/views/v", by="spark:ina").status_code == 200

    def test_creating_a_view_needs_create_view(self, world: CatalogHarness) -> None:
        world.rights.allow("ina", RAW, "database.create_table")
        assert _create(world, "w", "ina").status_code == 403
        world.rights.allow("ina", RAW, "database.create_view")
        assert _create(world, "w", "ina").status_code == 200

    def test_changing_a_view_needs_alter_or_the_privileges_to_drop_and_create_it(self, world: CatalogHarness) -> None:
        world.rights.allow("ina", VIEW, "table.describe", "table.select", "table.drop")
        assert _commit(world, _replaced("SELECT 1"), "ina").status_code == 403
        world.rights.allow("ina", RAW, "database.create_view")
        assert _commit(world, _replaced("SELECT 1"), "ina").status_code == 200
        world.rights.allow("bob", VIEW, "table.alter")
        assert _commit(world, _replaced("SELECT 2"), "bob").status_code == 200

    def test_a_view_commit_retried_with_its_idempotency_key_is_applied_once(self, world: CatalogHarness) -> None:
        key = {"idempotency_key": "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"}
        first = _commit(world, _replaced("SELECT 1"), **key)
        _commit(world, _replaced("SELECT 2"))

        again = _commit(world, _replaced("SELECT 1"), **key)

        assert (first.status_code, again.status_code) == (200, 200)
        assert again.json()["metadata"]["current-version-id"] == 3
        assert _commit(world, _replaced("SELECT 3"), **key).status_code == 400
