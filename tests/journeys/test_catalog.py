"""The Iceberg REST catalog over the real core.

Responses for hidden names equal those for missing names byte by byte, and each organization has its own lake.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import ForbiddenError, NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from pyiceberg.view.metadata import ViewVersion

from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in
from tests.view_version import view_version

SCHEMA = Schema(NestedField(1, "n", LongType()))
VERSION = view_version("secret")

HIDDEN, MISSING = "hidden", "absent"


def _catalog(world: DeploymentHarness, who: str, place: OrganizationClient | None = None) -> RestCatalog:
    at = place or world
    uri = f"{world.http.base_url}".rstrip("/") + f"{at.address}/iceberg"
    return RestCatalog("lake", uri=uri, token=at.tokens[who])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    """A deployment in which `ed` edits `raw` and cannot discover `hidden`, its table `salaries` and view `wages`."""
    folder: Path = tmp_path_factory.mktemp("world")
    with world_in(folder) as opened:
        opened.add("ed")
        opened.give("ed", "editor", "lake.raw")
        catalog = _catalog(opened, "owner")
        catalog.create_namespace(HIDDEN)
        catalog.create_table(("raw", "flights"), SCHEMA)
        catalog.create_table((HIDDEN, "salaries"), SCHEMA)
        catalog.create_view((HIDDEN, "wages"), SCHEMA, ViewVersion.model_validate(VERSION))
        yield opened


BODIES: dict[str, Any] = {
    "POST /v1/namespaces/{namespace}/properties": {"updates": {"a": "1"}},
    "POST /v1/namespaces/{namespace}/tables": {"name": "new", "schema": SCHEMA.model_dump()},
    "POST /v1/namespaces/{namespace}/register": {
        "name": "new",
        "metadata-location": "file:///x/metadata/0.metadata.json",
    },
    "POST /v1/namespaces/{namespace}/tables/{table}": {
        "updates": [{"action": "set-properties", "updates": {"a": "1"}}]
    },
    "POST /v1/namespaces/{namespace}/tables/{table}/metrics": {"report-type": "scan-report"},
    "POST /v1/namespaces/{namespace}/views": {
        "name": "new",
        "schema": SCHEMA.model_dump(),
        "view-version": VERSION,
        "properties": {},
    },
    "POST /v1/namespaces/{namespace}/views/{view}": {
        "updates": [{"action": "set-properties", "updates": {"a": "1"}}],
    },
    "POST /v1/tables/rename": {
        "source": {"namespace": ["{namespace}"], "name": "{table}"},
        "destination": {"namespace": ["raw"], "name": "mine"},
    },
    "POST /v1/views/rename": {
        "source": {"namespace": ["{namespace}"], "name": "{table}"},
        "destination": {"namespace": ["raw"], "name": "mine"},
    },
    "POST /v1/transactions/commit": {
        "table-changes": [
            {
                "identifier": {"namespace": ["{namespace}"], "name": "{table}"},
                "updates": [{"action": "set-properties", "updates": {"a": "1"}}],
            }
        ]
    },
}
_OF_NO_NAME = {"GET /v1/config", "GET /v1/namespaces", "POST /v1/namespaces"}


def catalog_routes(world: DeploymentHarness) -> set[str]:
    """Return every route of the catalog, in the form `GET /v1/config`."""
    paths: dict[str, dict[str, Any]] = world.app.openapi()["paths"]
    catalog = {path.removeprefix("/iceberg"): methods for path, methods in paths.items() if path.startswith("/iceberg")}
    return {f"{method.upper()} {path}" for path, methods in catalog.items() for method in methods}


def filled(value: Any, namespace: str, table: str) -> Any:
    """Return a body with the names of a namespace and of a table in it."""
    if isinstance(value, dict):
        return {key: filled(each, namespace, table) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, namespace, table) for each in value]
    if isinstance(value, str) and value in ("{namespace}", "{table}"):
        return {"{namespace}": namespace, "{table}": table}[value]
    return value


def _asked(world: DeploymentHarness, route: str, namespace: str, table: str) -> tuple[int, bytes, list[str]]:
    """Return the response to a user who cannot discover the name, with the names replaced by placeholders."""
    method, _, template = route.partition(" ")
    path = template.format(namespace=namespace, table=table, view=table)
    answer = world.http.request(
        method,
        f"/iceberg{path}",
        json=filled(BODIES.get(route), namespace, table),
        headers={"authorization": f"Bearer {world.tokens['ed']}"},
    )
    said = answer.content.replace(namespace.encode(), b"NAMESPACE").replace(table.encode(), b"TABLE")
    kept = [f"{key}: {value}" for key, value in answer.headers.items() if key in ("content-type", "etag")]
    return answer.status_code, said, kept


class TestHiddenIsMissing:
    def test_every_route_about_a_name_is_tried(self, world: DeploymentHarness) -> None:
        routes = catalog_routes(world)

        assert BODIES.keys() <= routes
        assert {each for each in routes if each.startswith("POST") and each not in BODIES} <= _OF_NO_NAME

    def test_every_route_answers_with_the_same_bytes_for_hidden_and_missing_names(
        self, world: DeploymentHarness
    ) -> None:
        for route in catalog_routes(world) - _OF_NO_NAME:
            for name in ("salaries", "wages"):
                there = _asked(world, route, HIDDEN, name)
                assert there == _asked(world, route, MISSING, name), route
                assert there == _asked(world, route, HIDDEN, "nothing"), route
                # To register a table needs a privilege on the lake, which every user who can discover a resource in it
                # can discover.
                assert there[0] == (403 if route.endswith("/register") else 404), route

    def test_a_list_leaves_out_hidden_namespaces(self, world: DeploymentHarness) -> None:
        assert _catalog(world, "ed").list_namespaces() == [("raw",)]

    def test_requests_about_hidden_names_change_nothing(self, world: DeploymentHarness) -> None:
        assert _catalog(world, "owner").table_exists((HIDDEN, "salaries"))
        assert _catalog(world, "owner").view_exists((HIDDEN, "wages"))


class TestRealRights:
    def test_an_editor_creates_and_loads_a_view_and_may_not_drop_it(self, world: DeploymentHarness) -> None:
        catalog = _catalog(world, "ed")
        catalog.create_view(("raw", "seen"), SCHEMA, ViewVersion.model_validate(VERSION))

        assert catalog.list_views("raw") == [("raw", "seen")]
        assert catalog.list_tables("raw") == [("raw", "flights")]
        assert catalog.load_view(("raw", "seen")).sql_for("spark") is not None
        with pytest.raises(ForbiddenError, match=r"table\.drop"):
            catalog.drop_view(("raw", "seen"))
        _catalog(world, "owner").drop_view(("raw", "seen"))

    def test_an_editor_changes_properties_and_registers_no_table(self, world: DeploymentHarness) -> None:
        catalog = _catalog(world, "ed")
        catalog.update_namespace_properties("raw", updates={"comment": "ours"})
        assert catalog.load_namespace_properties("raw") == {"comment": "ours"}

        owner = _catalog(world, "owner")
        path = owner.create_table(("raw", "gone"), SCHEMA).metadata_location
        owner.drop_table(("raw", "gone"))
        with pytest.raises((ForbiddenError, NoSuchTableError)):
            catalog.register_table(("raw", "back"), path)
        assert owner.register_table(("raw", "back"), path).metadata.schema() == SCHEMA
        owner.drop_table(("raw", "back"))

    def test_a_recreated_table_has_no_former_assignments_and_a_renamed_one_keeps_them(
        self, world: DeploymentHarness
    ) -> None:
        owner = _catalog(world, "owner")
        owner.create_table(("secret", "shared"), SCHEMA)
        world.add("vic")
        world.give("vic", "viewer", "lake.secret.shared")
        assert _catalog(world, "vic").table_exists(("secret", "shared"))

        owner.rename_table(("secret", "shared"), ("secret", "other"))
        assert _catalog(world, "vic").table_exists(("secret", "other"))
        owner.drop_table(("secret", "other"))
        owner.create_table(("secret", "other"), SCHEMA)

        assert not _catalog(world, "vic").table_exists(("secret", "other"))


class TestEachOrganization:
    def test_an_organization_has_a_lake_of_its_own_at_its_address(self, world: DeploymentHarness) -> None:
        other = world.organization("elsewhere", "nekt")
        there = _catalog(world, "owner", other)
        there.create_namespace("theirs")
        made = there.create_table(("theirs", "t"), SCHEMA)

        assert there.list_namespaces() == [("theirs",)]
        assert ("theirs",) not in _catalog(world, "owner").list_namespaces()
        assert other.control.snapshot.find(("lake", "theirs", "t")) is not None
        assert str(made.metadata.table_uuid) not in world.deployment.home.control.snapshot.resources

    def test_an_organization_does_not_know_a_caller_of_another(self, world: DeploymentHarness) -> None:
        headers = {"authorization": f"Bearer {world.tokens['owner']}"}
        answers = [
            world.http.get(f"/o/{name}/iceberg/v1/namespaces", headers=headers) for name in ("elsewhere", "nowhere")
        ]

        assert {each.status_code for each in answers} == {401}
        assert len({each.content for each in answers}) == 1


def test_the_catalog_answers_no_request_without_a_token(world: DeploymentHarness) -> None:
    for path in ("/v1/config", "/v1/namespaces", "/v1/nonsense", "/"):
        answer: httpx.Response = world.http.get(f"/iceberg{path}")
        assert answer.status_code == 401
