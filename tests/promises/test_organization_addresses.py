"""Every route acts in the organization of its address, and resources of other organizations look missing there."""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.app.spark.credentials import CredentialResolver
from headgate.app.spark.drivers import Drivers
from headgate.control.identity.principals import AddPrincipal
from headgate.control.identity.tokens import IssueToken, format_token
from headgate.control.kernel.ports import LogWrite
from headgate.control.models.shipped_models import shipped_model
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.control.organizations.organization import SeveralOrganizationsError
from headgate.facts.changes import ResourceRenamed
from headgate.facts.ids import PrincipalId, TokenId
from headgate.spark.authority import PresentedCredential
from headgate.spark.driver.clusters import Clusters
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import SqlLimits, StatementRequest
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in
from tests.app.generated_organization import Scene, scene
from tests.app.route_requests import READS, WRITES, Asked
from tests.app.routes import Route, routes
from tests.fakes.statements import FakeSpark

PASSWORD = "correct horse battery"  # noqa: S105 (a test secret)
ANN = PrincipalId("p_ann")
OF_THE_DEPLOYMENT = {
    "GET /.well-known/authzen-configuration",
    "GET /.well-known/oauth-authorization-server",
    "GET /api/v1/health",
    "POST /api/v1/login",
    "POST /api/v1/logout",
    "POST /api/v1/password",
    "POST /api/v1/devices/{code}",
    "GET /api/v1/invitations/{secret}/accept",
    "POST /api/v1/invitations/{secret}/accept",
    "GET /api/v1/organizations",
    "POST /api/v1/organizations",
    "GET /api/v1/deployment/models",
    "POST /api/v1/deployment/models",
    "GET /api/v1/deployment/models/{model}",
    "DELETE /api/v1/deployment/models/{model}",
    "PUT /api/v1/deployment/organizations/{organization}/model",
    "GET /api/v1/deployment/organizations",
    "POST /api/v1/deployment/organizations/{organization}/suspend",
    "POST /api/v1/deployment/organizations/{organization}/resume",
    "DELETE /api/v1/deployment/organizations/{organization}",
    "GET /api/v1/session",
    "GET /api/v1/sessions",
    "DELETE /api/v1/sessions/{id}",
    "GET /oidc/callback",
    "GET /oidc/login",
    "POST /oauth2/device_authorization",
    "POST /oauth2/token",
}
"""Routes of a login or of the deployment, which act in no organization."""
CATALOG = (
    ("GET", "/iceberg/v1/config"),
    ("GET", "/iceberg/v1/namespaces"),
    ("POST", "/iceberg/v1/namespaces"),
    ("GET", "/iceberg/v1/namespaces/raw/tables"),
    ("POST", "/iceberg/v1/namespaces/raw/register"),
    ("DELETE", "/iceberg/v1/namespaces/raw/tables/t"),
    ("POST", "/iceberg/v1/tables/rename"),
    ("POST", "/iceberg/v1/transactions/commit"),
)
MADE = re.compile(r"\b[a-z]{1,2}_[0-9a-f]{32}\b")
UNKNOWN = "nosuch"
PLAN = "== Analyzed Logical Plan ==\nSubqueryAlias lake.raw.t\n\n== Optimized Logical Plan ==\n"


class Two:
    """A deployment with its home organization `main` and with `beta`; Ann administers both, with one login."""

    def __init__(self, world: DeploymentHarness) -> None:
        self.world = world
        self.main: OrganizationClient = world
        self.beta = world.organization("beta", "nekt")
        logins = world.deployment.auth_services.authentication
        logins.register("ann", login="ann", password=PASSWORD, email="ann@acme.example", verified=True, principal=ANN)
        self.login = logins.log_in("ann", PASSWORD, {}).secret
        for place in (self.main, self.beta):
            place.control.execute(AddPrincipal(ANN, "ann", "admin"), None)
            place.tokens["ann"] = self.login
        self.spark = FakeSpark(pa.record_batch({"plan": [PLAN]}))
        statements = StatementStore(self.spark, SqlLimits())
        world.app.state.deployed = replace(world.app.state.deployed, statements=statements, has_spark=lambda _: True)

    def send(self, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None) -> Any:
        """Send a request with Ann's login."""
        known = {"authorization": f"Bearer {self.login}"}
        return self.world.http.request(method, path, json=body, params=query, headers=known)

    def ask(self, route: Route, at: str, text: str = UNKNOWN) -> Any:
        """Send a valid request for a route to the address of an organization."""
        return self.send(route.method, f"{at}{route.filled(text)}", route.sample(text))

    def content(self, place: OrganizationClient) -> list[str]:
        """Return all stored data of an organization."""
        return list(self.world.deployment.stores.export(place.opened.id))  # type: ignore[attr-defined]

    @property
    def routes(self) -> list[Route]:
        """The routes that act in an organization."""
        found = routes(self.world.http.get("/api/openapi.json").json())
        return [each for each in found if each.name not in OF_THE_DEPLOYMENT]


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    with world_in(tmp_path) as world:
        yield Two(world)


def knowing(two: Two) -> CredentialResolver:
    deployment = two.world.deployment
    return CredentialResolver(
        deployment, two.world.sparks, Drivers(deployment.organizations, deployment.home, ("*",), Clusters())
    )


class TestALoginOfTwoOrganizations:
    def test_a_login_of_two_organizations_has_to_name_one_on_every_route(self, two: Two) -> None:
        before = [two.content(each) for each in (two.main, two.beta)]

        answers = {route.name: two.ask(route, "") for route in two.routes}

        assert {name: answer.status_code for name, answer in answers.items() if answer.status_code != 400} == {}
        assert [
            name
            for name, each in answers.items()
            if "several organizations; put `/o/NAME` before the path" not in each.text
        ] == []
        assert [two.content(each) for each in (two.main, two.beta)] == before

    @pytest.mark.parametrize(("method", "path"), CATALOG)
    def test_a_login_of_two_organizations_has_to_name_one_at_the_catalog(
        self, two: Two, method: str, path: str
    ) -> None:
        answer = two.send(method, path, {})

        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "BadRequestException")
        assert "put `/o/NAME` before the path" in answer.json()["error"]["message"]

    def test_a_login_changes_only_the_organization_that_it_names(self, two: Two) -> None:
        filled = scene(two.beta, shipped_model("nekt").model)
        before = two.content(two.main)
        written = 0

        for name, prepared in WRITES.items():
            for asked in prepared(filled):
                revision = two.beta.control.snapshot.revision
                answer = two.send(name.partition(" ")[0], f"/o/beta/api/v1{asked.path}", asked.body, asked.query)
                written += answer.status_code < 300 and two.beta.control.snapshot.revision > revision

        assert written > 30
        assert two.content(two.main) == before

    def test_a_login_runs_sql_in_the_organization_that_it_names(self, two: Two) -> None:
        for place in ("/o/beta", "/o/organization", "/o/main"):
            two.send("POST", f"{place}/api/v1/sql", {"statement": "SELECT 1"})

        named = [credential.organization for credential, _ in two.spark.begun]
        assert named == [two.beta.opened.id, two.main.opened.id, two.main.opened.id]

    def test_a_login_saves_and_asks_queries_in_the_organization_that_it_names(self, two: Two) -> None:
        for place, address in ((two.main, "/o/main"), (two.beta, "/o/beta")):
            if place is two.beta:
                assert two.send("POST", f"{address}/api/v1/databases", {"name": "raw"}).status_code == 201
            table = {"type": "table", "parent": "lake.raw", "name": "t"}
            assert two.send("POST", f"{address}/api/v1/resources", table).status_code == 201
            query = {"kind": "saved_query", "name": "q", "inputs": ["lake.raw.t"], "sql": "SELECT * FROM lake.raw.t"}
            saved = two.send("PUT", f"{address}/api/v1/pipelines/q", query)
            assert saved.status_code == 200, saved.text
            assert two.send("GET", f"{address}/api/v1/pipelines/q/rows").status_code == 200

        named = [credential.organization for credential, _ in two.spark.begun]
        assert named == [two.main.opened.id] * 2 + [two.beta.opened.id] * 2

    def test_a_login_has_separate_statements_in_each_organization(self, two: Two) -> None:
        statements = StatementStore(two.spark, SqlLimits())
        kept = statements.start(
            PresentedCredential(two.login, two.beta.opened.id), ANN, StatementRequest("SELECT 1", None, 10, 1000, 60.0)
        )

        assert statements.find(PresentedCredential(two.login, two.main.opened.id), kept.id) is None
        assert statements.find(PresentedCredential(two.login, two.beta.opened.id), kept.id) is kept

    def test_a_login_of_two_organizations_has_to_name_one_at_the_gateway(self, two: Two) -> None:
        known = knowing(two)

        with pytest.raises(SeveralOrganizationsError):
            known.resolve(PresentedCredential(two.login))
        for place in (two.main, two.beta):
            found = known.resolve(PresentedCredential(two.login, place.opened.id))
            assert found is not None
            assert found.spark is two.world.sparks.of(place.opened)

    def test_a_login_of_one_organization_need_not_name_it(self, two: Two) -> None:
        assert two.send("DELETE", "/o/beta/api/v1/users/ann").status_code == 200

        assert two.send("GET", "/api/v1/organization").json()["id"] == two.main.opened.id
        assert two.send("GET", "/iceberg/v1/config").status_code == 200
        assert knowing(two).resolve(PresentedCredential(two.login)) is not None


class TestATokenOfAnotherOrganization:
    def test_a_token_acts_in_its_own_organization_and_is_unknown_elsewhere(self, two: Two) -> None:
        token = {"authorization": f"Bearer {two.beta.tokens['owner']}"}
        http = two.world.http

        assert http.get("/api/v1/organization", headers=token).json()["id"] == two.beta.opened.id
        assert http.get("/iceberg/v1/namespaces", headers=token).json() == {"namespaces": []}
        assert http.get("/o/main/api/v1/organization", headers=token).status_code == 401
        assert http.get("/o/main/iceberg/v1/namespaces", headers=token).status_code == 401


class TestALoginWhoseIdIsThatOfAServicePrincipal:
    def test_a_login_with_the_id_of_a_service_principal_is_unknown_in_that_organization(self, two: Two) -> None:
        """An imported log may give a user the id of another organization's service principal."""
        robot = two.beta.program("robot", "admin")
        logins = two.world.deployment.auth_services.authentication
        logins.register("mallory", login="mallory", password=PASSWORD, principal=robot)
        known = {"authorization": f"Bearer {logins.log_in('mallory', PASSWORD, {}).secret}"}

        assert two.world.http.get("/o/beta/api/v1/me", headers=known).status_code == 401
        assert knowing(two).resolve(PresentedCredential(logins.log_in("mallory", PASSWORD, {}).secret, "beta")) is None


def _wait_for_the_audit(two: Two) -> None:
    """Wait until the denials of earlier requests are written, because a route lists them."""
    while two.world.deployment.audit.backlog:
        time.sleep(0.01)


class TestWhatAnotherOrganizationHas:
    def test_resources_of_another_organization_look_missing_on_every_route(self, two: Two) -> None:
        filled = scene(two.beta, shipped_model("nekt").model)
        foreign, tried = _foreign(two), 0

        for name, asked in _all(filled):
            method, missing = name.partition(" ")[0], _renamed(asked, foreign)
            if missing != asked:
                _wait_for_the_audit(two)
                theirs, none = (
                    two.send(method, f"/o/main/api/v1{each.path}", each.body, {**each.query, "dry_run": "true"})
                    for each in (asked, missing)
                )
                tried += 1
                assert (theirs.status_code, _plain(theirs, foreign)) == (none.status_code, _plain(none, foreign)), name

        assert tried > 100


class TestTheDeployment:
    def test_the_deployment_is_no_organization_on_any_route(self, two: Two) -> None:
        known = routes(two.world.http.get("/api/openapi.json").json())

        codes = {route.name: two.ask(route, "/o/deployment").status_code for route in known}
        catalog = {path: two.send(method, f"/o/deployment{path}").status_code for method, path in CATALOG}

        assert {name: code for name, code in (codes | catalog).items() if code != 401} == {}
        assert two.send("GET", "/o/main/api/v1/me").status_code == 200

    def test_the_deployment_is_no_organization_to_a_user_that_is_in_none(self, two: Two) -> None:
        logins = two.world.deployment.auth_services.authentication
        logins.register("mal", login="mal", password=PASSWORD, email="mal@acme.example", verified=True)
        login = logins.log_in("mal", PASSWORD, {}).secret
        known = {"authorization": f"Bearer {login}"}

        for address in ("/o/deployment", "/o/%64eployment", "/o/main", "/o/beta", ""):
            assert two.world.http.post(f"{address}/api/v1/tokens", json={}, headers=known).status_code == 401
        assert knowing(two).resolve(PresentedCredential(login, DEPLOYMENT)) is None
        assert knowing(two).resolve(PresentedCredential(login)) is None

    def test_a_token_of_the_deployment_is_refused_everywhere(self, two: Two) -> None:
        """Such tokens were issued before the deployment's own log was closed to requests."""
        deployment = two.world.deployment.organizations.deployment
        id, secret = TokenId("t_old"), "s" * 43
        deployment.control.execute(IssueToken(id, secret, ANN), None)
        known = {"authorization": f"Bearer {format_token(id, secret)}"}

        for address in ("", "/o/main", "/o/beta", "/o/deployment"):
            assert two.world.http.get(f"{address}/api/v1/me", headers=known).status_code == 401
            assert two.world.http.get(f"{address}/iceberg/v1/config", headers=known).status_code == 401
        assert two.world.http.get("/api/v1/organizations", headers=known).status_code == 401
        assert knowing(two).resolve(PresentedCredential(format_token(id, secret))) is None


class TestAnOrganizationThatIsNamedLikeAnother:
    def test_an_organization_cannot_take_the_id_of_an_organization_as_its_name(self, two: Two) -> None:
        for name, status in ((two.main.opened.id, 409), ("o_" + "0f" * 16, 422)):
            answer = two.send("PATCH", "/o/beta/api/v1/organization", {"name": name})

            assert answer.status_code == status
            assert two.send("GET", "/o/beta/api/v1/organization").json()["name"] == "beta"

    def test_an_organization_with_the_id_of_another_as_its_name_takes_none_of_its_requests(self, two: Two) -> None:
        log = two.world.deployment.organizations.deployment
        renamed = ResourceRenamed(two.beta.opened.id, DEPLOYMENT, two.main.opened.id)
        log.store.append(log.store.head(), LogWrite(0.0, None, "resource.rename", (renamed,)))
        log.control.catch_up()

        found = two.send("GET", f"/o/{two.main.opened.id}/api/v1/organization").json()
        log.store.append(log.store.head(), LogWrite(0.0, None, "resource.rename", (replace(renamed, name="beta"),)))
        log.control.catch_up()

        assert found["id"] == two.main.opened.id


def _all(filled: Scene) -> Iterator[tuple[str, Asked]]:
    for name, prepared in WRITES.items():
        yield from ((name, asked) for asked in prepared(filled))
    for name, (_, prepared) in READS.items():
        yield from ((name, asked) for asked in prepared(filled))


def _foreign(two: Two) -> list[str]:
    """Return the ids and names that `beta` has and `main` does not, the longest first."""
    of = [each.control.snapshot for each in (two.beta, two.main)]
    ids = [
        {*each.resources, *each.principals, *each.groups, *(one.name for one in each.resources.values())} for each in of
    ]
    return sorted(map(str, ids[0] - ids[1] | {"somebody", "other", "program"}), key=len, reverse=True)


def _renamed(asked: Asked, foreign: list[str]) -> Asked:
    """Return the request with each of these names replaced by one that does not exist."""

    def other(value: Any, key: str = "") -> Any:
        if isinstance(value, Mapping):
            return {each: other(below, each) for each, below in value.items()}
        if isinstance(value, list):
            return [other(each, key) for each in value]
        return f"{value}{UNKNOWN}" if value in foreign and key not in ("type", "role", "action") else value

    first, *rest = asked.path.removeprefix("/").split("/")
    return Asked("/".join(("", first, *map(other, rest))), other(asked.body), other(asked.query))


def _plain(answer: Any, foreign: list[str]) -> str:
    """Return the text of an answer without these names and without generated ids."""
    text = MADE.sub("?", answer.text.replace(UNKNOWN, ""))
    return re.sub("|".join(rf"\b{re.escape(each)}\b" for each in foreign), "?", text)
