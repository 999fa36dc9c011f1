"""One login in two organizations at their catalogs: tables and views of one look missing at the catalog of the other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from headgate.control.identity.principals import AddPrincipal
from headgate.facts.ids import PrincipalId
from tests.app.deployment_harness import OrganizationClient, world_in

ANN = PrincipalId("p_ann")
SCHEMA = Schema(NestedField(1, "n", LongType()))
VERSION = {
    "version-id": 1,
    "timestamp-ms": 1_700_000_000_000,
    "schema-id": 0,
    "summary": {"engine-name": "spark"},
    "representations": [{"type": "sql", "sql": "SELECT 1 AS n", "dialect": "spark"}],
    "default-namespace": ["theirs"],
}
REPORT = {"report-type": "scan-report", "table-name": "t", "metrics": {"total": {"unit": "count", "value": 1}}}
PROPERTIES = [{"action": "set-properties", "updates": {"x": "1"}}]
THEIRS = {"namespace": ["theirs"], "name": "t"}
OWN = {"namespace": ["own"], "name": "t"}
VIEW = {"namespace": ["theirs"], "name": "v"}


def changed(identifier: Any) -> dict[str, Any]:
    return {"identifier": identifier, "requirements": [], "updates": PROPERTIES}


CALLS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/namespaces/theirs", None),
    ("HEAD", "/namespaces/theirs", None),
    ("POST", "/namespaces/theirs/properties", {"updates": {"x": "1"}}),
    ("GET", "/namespaces/theirs/tables", None),
    ("GET", "/namespaces/theirs/views", None),
    ("GET", "/namespaces/theirs/tables/t", None),
    ("HEAD", "/namespaces/theirs/tables/t", None),
    ("GET", "/namespaces/theirs/tables/t/credentials", None),
    ("POST", "/namespaces/theirs/tables/t/metrics", REPORT),
    ("POST", "/namespaces/theirs/tables/t", {"requirements": [], "updates": PROPERTIES}),
    ("POST", "/transactions/commit", {"table-changes": [changed(THEIRS)]}),
    ("POST", "/transactions/commit", {"table-changes": [changed(OWN), changed(THEIRS)]}),
    ("GET", "/namespaces/theirs/views/v", None),
    ("HEAD", "/namespaces/theirs/views/v", None),
    ("POST", "/namespaces/theirs/views/v", {"requirements": [], "updates": PROPERTIES}),
    ("POST", "/tables/rename", {"source": THEIRS, "destination": {**THEIRS, "name": "other"}}),
    ("POST", "/tables/rename", {"source": THEIRS, "destination": {**OWN, "name": "other"}}),
    ("POST", "/tables/rename", {"source": OWN, "destination": {**THEIRS, "name": "other"}}),
    ("POST", "/views/rename", {"source": VIEW, "destination": {**VIEW, "name": "w"}}),
    ("DELETE", "/namespaces/theirs/views/v", None),
    ("DELETE", "/namespaces/theirs/tables/t", None),
    ("DELETE", "/namespaces/theirs/tables/t?purgeRequested=true", None),
    ("DELETE", "/namespaces/theirs", None),
)


class Two:
    """The home organization with the table `own.t`, and `beta` with `theirs.t` and the view `theirs.v`; Ann is in both."""

    def __init__(self, main: OrganizationClient, beta: OrganizationClient, login: str) -> None:
        self.main = main
        self.beta = beta
        self.login = login
        for place, address, name in ((main, "/o/main", "own"), (beta, "/o/beta", "theirs")):
            catalog = RestCatalog(name, uri=f"{main.http.base_url}{address}/iceberg", token=place.tokens["owner"])
            catalog.create_namespace(name)
            catalog.create_table(f"{name}.t", SCHEMA)
        view = {"name": "v", "schema": SCHEMA.model_dump(), "view-version": VERSION, "properties": {}}
        made = self.send("beta", "POST", "/namespaces/theirs/views", view)
        assert made.status_code == 200, made.text

    def send(self, address: str, method: str, path: str, body: Any = None) -> Any:
        """Send a request as Ann to the catalog of an organization."""
        known = {"authorization": f"Bearer {self.login}"}
        return self.main.http.request(method, f"/o/{address}/iceberg/v1{path}", json=body, headers=known)

    def state(self) -> list[int]:
        return [each.control.snapshot.revision for each in (self.main, self.beta)]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    with world_in(Path(tmp_path_factory.mktemp("two"))) as world:
        beta = world.organization("beta", "nekt")
        logins = world.deployment.auth_services.authentication
        logins.register(
            "ann",
            login="ann",
            password="correct horse battery",  # noqa: S106 (a test secret)
            email="ann@acme.example",
            verified=True,
            principal=ANN,
        )
        for place in (world, beta):
            place.control.execute(AddPrincipal(ANN, "ann", "admin"), None)
        yield Two(world, beta, logins.log_in("ann", "correct horse battery", {}).secret)


def missing(value: Any) -> Any:
    """Return the request with names that no organization has."""
    if isinstance(value, dict):
        return {key: missing(each) for key, each in value.items()}
    if isinstance(value, list):
        return [missing(each) for each in value]
    return value.replace("theirs", "nosuch") if isinstance(value, str) else value


@pytest.mark.parametrize(("method", "path", "body"), CALLS)
def test_tables_of_another_organization_look_missing(two: Two, method: str, path: str, body: Any) -> None:
    before = two.state()

    theirs = two.send("main", method, path, body)
    none = two.send("main", method, missing(path), missing(body))

    assert theirs.status_code == none.status_code >= 400, theirs.text
    assert theirs.text.replace("theirs", "nosuch") == none.text
    assert two.state() == before


def test_the_same_requests_succeed_in_their_own_organization(two: Two) -> None:
    """The last test, because it changes tables and views; it shows that the names of the tests above exist."""
    reads = [each for each in CALLS if each[0] != "DELETE" and "own" not in str(each) and "rename" not in each[1]]

    codes = {path: two.send("beta", method, path, body).status_code for method, path, body in reads}

    assert {path: code for path, code in codes.items() if code >= 300} == {}
