"""Every route that sets a name refuses a name that readers would take for another one, and writes nothing.

Every route that sets a name is either tried here or is listed with the reason why not. Each name is judged on its own:
the organizations here have no resource with a similar name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from headgate.control.access.switches import ChangeSetting
from headgate.control.kernel.ports import DocumentPut
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in
from tests.app.routes import Route, routes
from tests.promises.test_existence_disclosure import query, saved_query, table
from tests.promises.test_taken_names import SCHEMA, VIEW, filled, gives_a_name

LOOK_ALIKES: Mapping[str, tuple[str, str]] = {
    "a Cyrillic letter": ("s\u0435cret", "it mixes letters of Cyrillic and Latin"),
    "fullwidth letters": ("\uff33\uff25\uff23\uff32\uff25\uff34", "write `SECRET` (Unicode form NFKC)"),
    "Cyrillic letters alone": ("\u0441\u043e\u0440\u0435", "all its letters look like Latin letters"),
}
"""Names, each with the text of its refusal."""
MIXED = ("a Cyrillic letter", "fullwidth letters")
"""Those names that are refused for users too. `tests/control/kernel/test_display_names.py` compares users with each other."""


@dataclass(frozen=True)
class Giving:
    """A request that sets the name `<name>` in an organization of this model."""

    path: str
    body: Any
    method: str = "POST"
    model: str = "nekt"
    kinds: Sequence[str] = tuple(LOOK_ALIKES)


STREAM = {"name": "<name>", "file": "a.csv", "into": "lake.raw.s"}
SOURCE = {"kind": "source", "name": "load", "connection": "files"}
OWNED = {"relations": {"owner": [{"to": "sales"}]}}
_ON_LAKE = {"namespace": ["raw"], "name": "own"}
TRIED: Mapping[str, tuple[Giving, ...]] = {
    "POST /api/v1/databases": (Giving("/databases", {"name": "<name>"}),),
    "POST /api/v1/resources": (Giving("/resources", {"type": "database", "parent": "lake", "name": "<name>"}),),
    "PATCH /api/v1/resources/{resource}": (Giving("/resources/lake.raw.own", {"name": "<name>"}, "PATCH"),),
    "POST /api/v1/connections": (Giving("/connections", {"name": "<name>", "folder": "/nowhere"}),),
    "PUT /api/v1/pipelines/{pipeline}": (
        Giving("/pipelines/<name>", query("<name>", "lake.raw.q", "lake.raw.own"), "PUT"),
        Giving("/pipelines/<name>", saved_query("<name>"), "PUT"),
        Giving("/pipelines/load", {**SOURCE, "streams": [STREAM]}, "PUT"),
    ),
    "POST /api/v1/pipelines/{pipeline}/streams": (Giving("/pipelines/load/streams", STREAM),),
    "POST /api/v1/groups": (Giving("/groups", {"name": "<name>"}),),
    "PATCH /api/v1/groups/{group}": (Giving("/groups/crew", {"name": "<name>"}, "PATCH"),),
    "POST /api/v1/service-principals": (Giving("/service-principals", {"name": "<name>"}),),
    "PATCH /api/v1/service-principals/{service_principal}": (
        Giving("/service-principals/bot", {"name": "<name>"}, "PATCH"),
    ),
    "POST /api/v1/users": (Giving("/users", {"name": "<name>"}, kinds=MIXED),),
    "PATCH /api/v1/organization": (Giving("/organization", {"name": "<name>"}, "PATCH"),),
    "POST /api/v1/projects": (Giving("/projects", {"name": "<name>"}, model="y42"),),
    "PATCH /api/v1/projects/{project}": (Giving("/projects/one", {"name": "<name>"}, "PATCH", model="y42"),),
    "POST /api/v1/clusters": (Giving("/clusters", {"name": "<name>", "parent": "one"}, model="onehouse"),),
    "POST /api/v1/data-contracts": (Giving("/data-contracts", {"name": "<name>", **OWNED}, model="datamesh"),),
    "POST /api/v1/data-products": (Giving("/data-products", {"name": "<name>", **OWNED}, model="datamesh"),),
    "POST /api/v1/domains": (Giving("/domains", {"name": "<name>"}, model="datamesh"),),
    "PATCH /api/v1/domains/{team}": (Giving("/domains/sales", {"name": "<name>"}, "PATCH", model="datamesh"),),
    "POST /api/v1/teams": (Giving("/teams", {"name": "<name>", "parent": "sales"}, model="datamesh"),),
    "PATCH /api/v1/teams/{team}": (Giving("/teams/sales.shop", {"name": "<name>"}, "PATCH", model="datamesh"),),
    "PUT /api/v1/roles/{role}": (Giving("/roles/<name>", {"permissions": ["TEAM_ADD"]}, "PUT", model="datamesh"),),
    "POST /api/v1/change-requests": (
        Giving("/change-requests", {"resource": "orders", "name": "<name>"}, model="datamesh"),
    ),
}
"""The requests of each route, sent with a dry run and without."""
CATALOG: Mapping[str, tuple[Giving, ...]] = {
    "POST /iceberg/v1/namespaces": (Giving("/namespaces", {"namespace": ["<name>"]}),),
    "POST /iceberg/v1/namespaces/{namespace}/tables": (
        Giving("/namespaces/raw/tables", {"name": "<name>", "schema": SCHEMA}),
        Giving("/namespaces/raw/tables", {"name": "<name>", "schema": SCHEMA, "stage-create": True}),
    ),
    "POST /iceberg/v1/namespaces/{namespace}/views": (Giving("/namespaces/raw/views", {"name": "<name>", **VIEW}),),
    "POST /iceberg/v1/namespaces/{namespace}/register": (
        Giving("/namespaces/raw/register", {"name": "<name>", "metadata-location": "file:///x/metadata/0.metadata.json"}),
    ),
    "POST /iceberg/v1/tables/rename": (
        Giving("/tables/rename", {"source": _ON_LAKE, "destination": {"namespace": ["raw"], "name": "<name>"}}),
    ),
    "POST /iceberg/v1/views/rename": (
        Giving(
            "/views/rename",
            {"source": {**_ON_LAKE, "name": "seen"}, "destination": {"namespace": ["raw"], "name": "<name>"}},
        ),
    ),
}  # fmt: skip
"""The requests of each route of the catalog, which has no dry runs."""
_NO_NAME = "it gives no new name"
_LOADED = "it commits to what is there, or to what was staged by a create, whose name was judged then"
ELSEWHERE: Mapping[str, str] = {
    "POST /api/v1/organizations": "tests/endpoints/api/resources/test_organizations.py, in a deployment whose model lets users begin one",
    "POST /api/v1/invitations/{secret}/accept": "login names: tests/control/authentication/test_users.py",
    "POST /api/v1/login": _NO_NAME,
    "PUT /api/v1/settings/{setting}": _NO_NAME,
    "PUT /api/v1/groups/{group}/members/{member}": _NO_NAME,
    "PUT /api/v1/teams/{team}/members/{member}": _NO_NAME,
    "PUT /api/v1/domains/{team}/members/{member}": _NO_NAME,
    "POST /iceberg/v1/namespaces/{namespace}/properties": _NO_NAME,
    "POST /iceberg/v1/namespaces/{namespace}/tables/{table}": _LOADED,
    "POST /iceberg/v1/namespaces/{namespace}/tables/{table}/metrics": _NO_NAME,
    "POST /iceberg/v1/namespaces/{namespace}/views/{view}": _NO_NAME,
    "POST /iceberg/v1/transactions/commit": _LOADED,
}

_BOTH = ((False, ""), (True, " as a dry run"))
REQUESTS = [
    pytest.param(root, giving, dry_run, id=f"{route}{words}-{number}")
    for root, tried, ways in (("/api/v1", TRIED, _BOTH), ("/iceberg/v1", CATALOG, _BOTH[:1]))
    for route, several in tried.items()
    for number, giving in enumerate(several)
    for dry_run, words in ways
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("look-alikes")) as opened:
        yield opened


@pytest.fixture(scope="module")
def places(world: DeploymentHarness, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, OrganizationClient]:
    """Return an organization of each model with the resources that the requests name."""
    table(world, "raw", "own")
    table(world, "raw", "t")
    folder = str(tmp_path_factory.mktemp("files"))
    _make(world, "/connections", {"name": "files", "folder": folder})
    _make(world, "/groups", {"name": "crew"})
    _make(world, "/service-principals", {"name": "bot"})
    source = {**SOURCE, "streams": [{"name": "first", "file": "a.csv", "into": "lake.raw.first"}]}
    assert world.call("owner", "PUT", "/pipelines/load", source).status_code == 200
    assert _sent(world, "/iceberg/v1", Giving("/namespaces/raw/views", {"name": "seen", **VIEW}), "").status_code == 200
    mesh, stages, house = (world.organization(model, model) for model in ("datamesh", "y42", "onehouse"))
    _make(mesh, "/domains", {"name": "sales"})
    _make(mesh, "/teams", {"name": "shop", "parent": "sales"})
    _make(mesh, "/data-products", {"name": "orders", **OWNED})
    mesh.control.execute(ChangeSetting(mesh.opened.id, "change_process", "true"), None)
    for place in (stages, house):
        _make(place, "/projects", {"name": "one"})
    return {"nekt": world, "datamesh": mesh, "y42": stages, "onehouse": house}


def _make(place: OrganizationClient, path: str, body: Any) -> None:
    made = place.call("owner", "POST", path, body)
    assert made.status_code == 201, (path, made.text)


def _sent(place: OrganizationClient, root: str, giving: Giving, name: str, **query: Any) -> httpx.Response:
    return place.http.request(
        giving.method,
        f"{place.address}{root}{giving.path.replace('<name>', name)}",
        json=filled(giving.body, name),
        params=query,
        headers={"authorization": f"Bearer {place.tokens['owner']}"},
    )


def test_every_route_that_gives_a_name_is_tried_or_says_why_not(world: DeploymentHarness) -> None:
    naming = {each.name for each in routes(world.http.get("/api/openapi.json").json()) if gives_a_name(each)}

    assert naming == {*TRIED, *CATALOG, *ELSEWHERE}


def test_every_route_of_the_api_that_is_tried_has_dry_runs(world: DeploymentHarness) -> None:
    def has_dry_runs(route: Route) -> bool:
        return any(each["name"] == "dry_run" for each in route.parameters("query"))

    found = {each.name: each for each in routes(world.http.get("/api/openapi.json").json())}

    assert all(has_dry_runs(found[each]) for each in TRIED)


@pytest.mark.parametrize(("root", "giving", "dry_run"), REQUESTS)
def test_a_look_alike_name_is_refused_and_nothing_is_written(
    places: Mapping[str, OrganizationClient], root: str, giving: Giving, *, dry_run: bool
) -> None:
    place, query = places[giving.model], {"dry_run": True} if dry_run else {}
    before = place.control.snapshot.revision

    for name, sentence in (LOOK_ALIKES[kind] for kind in giving.kinds):
        answer = _sent(place, root, giving, name, **query)

        assert answer.status_code == (422 if root == "/api/v1" else 400), answer.text
        assert sentence in answer.text
    assert place.control.snapshot.revision == before


@pytest.mark.parametrize(("root", "giving", "dry_run"), [each for each in REQUESTS if each.values[2]])
def test_the_same_request_succeeds_with_a_plain_name(
    places: Mapping[str, OrganizationClient], root: str, giving: Giving, *, dry_run: bool
) -> None:
    answer = _sent(places[giving.model], root, giving, "plain", dry_run=dry_run)

    assert answer.status_code == 200, answer.text


def test_a_stream_keeps_the_name_that_it_has(
    world: DeploymentHarness, places: Mapping[str, OrganizationClient]
) -> None:
    name, _ = LOOK_ALIKES["a Cyrillic letter"]
    older = {**SOURCE, "name": "older", "streams": [{**STREAM, "name": name, "into": "lake.raw.older"}]}
    plain = {**older, "streams": [{**STREAM, "name": "plain", "into": "lake.raw.older"}]}
    made = places["nekt"].call("owner", "PUT", "/pipelines/older", plain)
    world.deployment.home.store.put_document(DocumentPut("pipeline", made.json()["id"], older))

    assert world.call("owner", "PUT", "/pipelines/older", older).status_code == 200
