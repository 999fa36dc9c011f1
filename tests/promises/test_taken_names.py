"""A name of a resource that the caller may not discover: a dry run does not disclose it, and a create is audited.

Every route that sets a name is either tried here or is listed with the reason why it discloses nothing.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.app.routes import Route, resolved, routes
from tests.app.server_process import until
from tests.promises.test_existence_disclosure import MADE, query, table

MAKING = [
    "assignment.add",
    "database.create_table",
    "database.create_view",
    "lake.register_table",
    "organization.add_user",
    "organization.create_group",
    "organization.create_project",
    "organization.create_service_principal",
    "project.create_connection",
    "project.create_saved_query",
]
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "n", "type": "int", "required": False}]}
VIEW = {
    "schema": SCHEMA,
    "view-version": {
        "version-id": 1,
        "timestamp-ms": 0,
        "schema-id": 0,
        "summary": {},
        "representations": [{"type": "sql", "sql": "SELECT 1 AS n", "dialect": "spark"}],
        "default-namespace": ["raw"],
    },
    "properties": {},
}


@dataclass(frozen=True)
class Naming:
    """A request that sets the name `<name>`; `taken` is the name of a hidden resource, principal or group."""

    path: str
    taken: str
    body: Any
    who: str = "maker"
    method: str = "POST"


HTTP: Mapping[str, Naming] = {
    "POST /api/v1/groups": Naming("/groups", "hidden-group", {"name": "<name>"}),
    "PATCH /api/v1/groups/{group}": Naming("/groups/crew", "hidden-group", {"name": "<name>"}, "crew", "PATCH"),
    "POST /api/v1/service-principals": Naming("/service-principals", "hidden-bot", {"name": "<name>"}),
    "POST /api/v1/users": Naming("/users", "hidden-user", {"name": "<name>"}),
    "POST /api/v1/databases": Naming("/databases", "secret", {"name": "<name>"}, "founder"),
    "POST /api/v1/resources": Naming(
        "/resources", "secret", {"type": "database", "parent": "lake", "name": "<name>"}, "founder"
    ),
    "POST /api/v1/connections": Naming("/connections", "hidden", {"name": "<name>", "folder": "/nowhere"}),
    "PUT /api/v1/pipelines/{pipeline}": Naming(
        "/pipelines/<name>", "hidden", query("<name>", "lake.raw.q", "lake.raw.own"), "ed", "PUT"
    ),
}
"""The requests of each route, tried as a dry run and as a create."""
ICEBERG: Mapping[str, Naming] = {
    "POST /iceberg/v1/namespaces": Naming("/namespaces", "secret", {"namespace": ["<name>"]}, "founder"),
    "POST /iceberg/v1/namespaces/{namespace}/tables": Naming(
        "/namespaces/raw/tables", "hidden", {"name": "<name>", "schema": SCHEMA}
    ),
    "POST /iceberg/v1/namespaces/{namespace}/views": Naming(
        "/namespaces/raw/views", "hidden", {"name": "<name>", **VIEW}
    ),
}
"""The requests of each route of the catalog, which has no dry runs."""
_RESOURCE = "it sends the command of `POST /api/v1/resources`"
_KNOWN = "every member may know of all projects"
_NO_NAME = "it gives no new name"
ELSEWHERE: Mapping[str, str] = {
    "POST /api/v1/clusters": _RESOURCE,
    "POST /api/v1/data-contracts": _RESOURCE,
    "POST /api/v1/data-products": _RESOURCE,
    "POST /api/v1/domains": _RESOURCE,
    "POST /api/v1/teams": _RESOURCE,
    "PATCH /api/v1/domains/{team}": "it sends the command of `PATCH /api/v1/resources/{resource}`",
    "PATCH /api/v1/teams/{team}": "it sends the command of `PATCH /api/v1/resources/{resource}`",
    "PATCH /api/v1/resources/{resource}": "`CommandContext.free_name` is asked, as where a resource is made: tests/control/resources/test_changes.py",
    "POST /api/v1/change-requests": "the name is looked for when the change is approved, and then as a rename",
    "POST /api/v1/projects": _KNOWN,
    "PATCH /api/v1/projects/{project}": _KNOWN,
    "PATCH /api/v1/service-principals/{service_principal}": "a caller who may rename one may see all of them; the name is looked "
    "for as in `POST`",
    "PATCH /api/v1/organization": "the name of the organization itself is compared with none",
    "POST /api/v1/organizations": "`CommandContext.free_name` is asked in the deployment, as where a resource is made",
    "POST /api/v1/pipelines/{pipeline}/streams": "a stream has its name in a pipeline that the caller may edit",
    "POST /api/v1/login": _NO_NAME,
    "POST /api/v1/invitations/{secret}/accept": "a login name is the deployment's; the collision is audited, see test_logins.py",
    "PUT /api/v1/roles/{role}": "roles are listed to every member, and the one of the name is replaced",
    "PUT /api/v1/settings/{setting}": _NO_NAME,
    "PUT /api/v1/groups/{group}/members/{member}": _NO_NAME,
    "PUT /api/v1/teams/{team}/members/{member}": _NO_NAME,
    "PUT /api/v1/domains/{team}/members/{member}": _NO_NAME,
    "POST /iceberg/v1/namespaces/{namespace}/register": "it sends a create like that of a table, and needs a file in the warehouse",
    "POST /iceberg/v1/namespaces/{namespace}/properties": _NO_NAME,
    "POST /iceberg/v1/namespaces/{namespace}/tables/{table}": "a staged create ends as one of `POST .../tables` does",
    "POST /iceberg/v1/namespaces/{namespace}/tables/{table}/metrics": _NO_NAME,
    "POST /iceberg/v1/namespaces/{namespace}/views/{view}": _NO_NAME,
    "POST /iceberg/v1/transactions/commit": _NO_NAME,
    "POST /iceberg/v1/tables/rename": "a caller who may rename a table may see all of its database; all commands of the catalog "
    "are audited in one place, `iceberg_rest.commands.execute_command`",
    "POST /iceberg/v1/views/rename": "it sends the command of `POST /iceberg/v1/tables/rename`",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    folder = tmp_path_factory.mktemp("taken")
    with world_in(folder) as opened:
        for name in ("hidden", "own"):
            table(opened, "raw", name)
        for path, body in (
            ("/connections", {"name": "hidden", "folder": str(folder)}),
            *(("/groups", {"name": name}) for name in ("hidden-group", "crew")),
            ("/service-principals", {"name": "hidden-bot"}),
        ):
            assert opened.call("owner", "POST", path, body).status_code == 201, path
        opened.add("hidden-user")
        opened.add("ed")
        opened.give("ed", "editor", "lake.raw")
        crew = opened.call("owner", "GET", "/groups/crew").json()["id"]
        narrowed: Mapping[str, Mapping[str, list[str]]] = {
            "maker": {"actions": MAKING},
            "crew": {"only": [crew]},
            "founder": {"actions": ["lake.create_database"]},
        }
        for who, narrowing in narrowed.items():
            made = opened.call("owner", "POST", "/tokens", narrowing)
            assert made.status_code == 201, made.text
            opened.tokens[who] = made.json()["token"]
        yield opened


def filled(body: Any, name: str) -> Any:
    """Return the body with the name inserted."""
    return json.loads(json.dumps(body).replace("<name>", name))


def sent(world: DeploymentHarness, naming: Naming, name: str, root: str = "/api/v1", **query: Any) -> httpx.Response:
    """Return the answer to the request with this name."""
    return world.http.request(
        naming.method,
        f"{root}{naming.path.replace('<name>', name)}",
        json=filled(naming.body, name),
        params=query,
        headers={"authorization": f"Bearer {world.tokens[naming.who]}"},
    )


def collisions(world: DeploymentHarness) -> int:
    """Return the number of creates in the audit that were refused because the name is taken."""
    items = world.call("owner", "GET", "/audit/decisions").json()["items"]
    return sum(each["code"] == "taken" for each in items)


def test_every_route_that_gives_a_name_is_tried_or_says_why_not(world: DeploymentHarness) -> None:
    document = world.http.get("/api/openapi.json").json()

    naming = {each.name for each in routes(document) if gives_a_name(each)}

    assert naming == {*HTTP, *ICEBERG, *ELSEWHERE}


def gives_a_name(route: Route) -> bool:
    """Whether the route may set a name: in its body, at the end of its path, or anywhere in the catalog."""
    if route.method not in ("POST", "PUT", "PATCH"):
        return False
    fields = resolved(route.body, route.document).get("properties", {}) if route.body else {}
    ends = route.method == "PUT" and route.path.endswith("}")
    return ends or bool({"name", "login"} & set(fields)) or route.path.startswith("/iceberg/")


@pytest.mark.parametrize("route", HTTP)
def test_a_dry_run_answers_hidden_and_free_names_alike(world: DeploymentHarness, route: str) -> None:
    def foreseen(name: str) -> tuple[int, str]:
        answer = sent(world, HTTP[route], name, dry_run=True)
        return answer.status_code, MADE.sub("ID", answer.text.replace(name, "NAME"))

    before = collisions(world)
    hidden = foreseen(HTTP[route].taken)

    assert hidden == foreseen("free-name")
    assert hidden[0] == 200, hidden[1]
    assert collisions(world) == before


@pytest.mark.parametrize(
    ("root", "route"), [("/api/v1", each) for each in HTTP] + [("/iceberg/v1", each) for each in ICEBERG]
)
def test_a_create_that_collides_with_a_hidden_name_is_audited(world: DeploymentHarness, root: str, route: str) -> None:
    naming = HTTP.get(route) or ICEBERG[route]
    before = collisions(world)

    answer = sent(world, naming, naming.taken, root)

    assert answer.status_code == 409, answer.text
    until(lambda: collisions(world) == before + 1, lambda: "the collision is not in the audit")
