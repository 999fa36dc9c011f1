"""The audit of denials at every endpoint beside the HTTP API: one record, in the addressed organization, with the caller."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from headgate.app.spark.credentials import CredentialResolver
from headgate.app.spark.drivers import Drivers
from headgate.control.identity.tokens import RevokeToken
from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.control.organizations.suspension import SuspendOrganization
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.endpoints.internal.gateway import gateway_application
from headgate.facts.ids import ResourceId
from headgate.spark.abandoned_sessions import AbandonedSessions
from headgate.spark.authority_messages import Authenticate, MayAccessMessage, message_path
from headgate.spark.deciding_authority import DecidingAuthority
from headgate.spark.driver.clusters import Clusters
from headgate.spark.sessions.signature import sign
from tests.app.deployment_harness import KEY, DeploymentHarness, OrganizationClient, world_in
from tests.app.server_process import until
from tests.journeys.test_catalog import BODIES, HIDDEN, MISSING, SCHEMA, VERSION, catalog_routes, filled
from tests.threads import served

EVALUATION = "/access/v1/evaluation"
HIDDEN_TABLE, MISSING_TABLE = f"lake.{HIDDEN}.salaries", f"lake.{MISSING}.salaries"
ALWAYS_ALLOWED = {"GET /v1/config", "GET /v1/namespaces"}
"""Routes of the catalog that answer every known caller."""
OF_THE_LAKE = {"POST /v1/namespaces", "POST /v1/namespaces/{namespace}/register"}
"""Routes that need an action on the lake, which every member may discover."""
REFUSED: Mapping[str, tuple[str, str]] = {
    "POST /v1/namespaces": ("lake.create_database", "lake"),
    "DELETE /v1/namespaces/{namespace}": ("database.drop", "lake.raw"),
    "POST /v1/namespaces/{namespace}/properties": ("database.alter", "lake.raw"),
    "POST /v1/namespaces/{namespace}/tables": ("database.create_table", "lake.raw"),
    "POST /v1/namespaces/{namespace}/register": ("lake.register_table", "lake"),
    "POST /v1/namespaces/{namespace}/views": ("database.create_view", "lake.raw"),
    "POST /v1/namespaces/{namespace}/tables/{table}": ("table.alter", "lake.raw.flights"),
    "DELETE /v1/namespaces/{namespace}/tables/{table}": ("table.drop", "lake.raw.flights"),
    "POST /v1/namespaces/{namespace}/views/{view}": ("table.alter", "lake.raw.seen"),
    "DELETE /v1/namespaces/{namespace}/views/{view}": ("table.drop", "lake.raw.seen"),
    "POST /v1/tables/rename": ("table.alter", "lake.raw.flights"),
    "POST /v1/views/rename": ("table.alter", "lake.raw.seen"),
    "POST /v1/transactions/commit": ("table.alter", "lake.raw.flights"),
}
"""The action and resource that each route refuses to a viewer of `raw`. Routes that are not listed are allowed."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    """`home` is the home organization; `acme` has tables, the viewer `vic` of `raw` and the editor `ed` of `raw`."""
    with world_in(tmp_path_factory.mktemp("denials")) as opened:
        yield opened


@pytest.fixture(scope="module")
def acme(world: DeploymentHarness) -> OrganizationClient:
    place = world.organization("acme", "nekt")
    for name in ("raw", HIDDEN):
        assert place.call("owner", "POST", "/databases", {"name": name}).status_code == 201
    for name, role in (("vic", "viewer"), ("ed", "editor")):
        place.add(name)
        assert place.give(name, role, "lake.raw").status_code == 201
    for database, table, view in (("raw", "flights", "seen"), (HIDDEN, "salaries", "wages")):
        new = {"name": table, "schema": SCHEMA.model_dump()}
        assert catalog(place, "owner", "POST", f"/v1/namespaces/{database}/tables", new).status_code == 200
        new = {"name": view, "schema": SCHEMA.model_dump(), "view-version": VERSION, "properties": {}}
        assert catalog(place, "owner", "POST", f"/v1/namespaces/{database}/views", new).status_code == 200
    return place


def catalog(place: OrganizationClient, who: str, method: str, path: str, body: Any = None) -> httpx.Response:
    headers = {"authorization": f"Bearer {place.tokens[who]}"} if who else {}
    return place.http.request(method, f"{place.address}/iceberg{path}", json=body, headers=headers)


def asked(place: OrganizationClient, who: str, route: str, namespace: str, table: str, view: str) -> httpx.Response:
    """Return the answer of a route of the catalog to a request with these names."""
    method, _, template = route.partition(" ")
    path = template.format(namespace=namespace, table=table, view=view)
    named = view if "/views/" in template else table
    return catalog(place, who, method, path, filled(BODIES.get(route, {"namespace": ["new"]}), namespace, named))


@dataclass
class Audits:
    """All audit records of the deployment, by organization."""

    world: DeploymentHarness

    def kept(self) -> dict[ResourceId, list[AuditRecord]]:
        """Return all records, newest first."""
        until(lambda: self.world.deployment.audit.backlog == 0, lambda: "the audit is not written")
        stores = self.world.deployment.stores
        roots = {*self.world.deployment.organizations.roots, DEPLOYMENT}
        return {root: [each for _, each in stores.audit_records(root, AuditFilter(), limit=10_000)] for root in roots}

    def made_by(self, act: Callable[[], Any]) -> tuple[Any, list[tuple[ResourceId, AuditRecord]]]:
        """Return a call's result, and the records that it adds to the audit, each with its organization."""
        before = self.kept()
        result = act()
        after = self.kept()
        new = {root: records[: len(records) - len(before.get(root, ()))] for root, records in after.items()}
        return result, [(root, each) for root, records in new.items() for each in records]


@pytest.fixture
def audits(world: DeploymentHarness) -> Audits:
    return Audits(world)


def only(place: OrganizationClient, found: list[tuple[ResourceId, AuditRecord]]) -> AuditRecord:
    """Return the only new record; fail if it is not a denial in the audit of this organization."""
    assert [root for root, _ in found] == [place.opened.id], found
    record = found[0][1]
    assert not record.allowed
    return record


def by(place: OrganizationClient, who: str, record: AuditRecord) -> bool:
    """Whether a record names this caller and their token."""
    caller = place.caller(who)
    return (record.principal, record.origin.token) == (caller.principal, caller.token)


class TestTheCatalog:
    def test_every_catalog_route_records_a_hidden_name_and_a_missing_name_alike(
        self, world: DeploymentHarness, acme: OrganizationClient, audits: Audits
    ) -> None:
        for route in sorted(catalog_routes(world) - ALWAYS_ALLOWED - OF_THE_LAKE):
            records = []
            for namespace in (HIDDEN, MISSING):
                answer, found = audits.made_by(
                    lambda route=route, namespace=namespace: asked(acme, "vic", route, namespace, "salaries", "wages")
                )
                assert answer.status_code == 404, (route, answer.text)
                record = only(acme, found)
                assert by(acme, "vic", record), route
                assert (record.code, record.origin.door) == ("not-found", "iceberg"), route
                assert record.origin.request == answer.headers.get("x-request-id", ""), route
                records.append((record.action, record.resource.replace(namespace, "NAMESPACE")))
            assert records[0] == records[1], route
            assert records[0][1].startswith("lake.NAMESPACE"), route

    def test_denials_are_found_by_the_name_and_id_of_a_table(self, acme: OrganizationClient, audits: Audits) -> None:
        route = "DELETE /v1/namespaces/{namespace}/tables/{table}"
        table = acme.control.snapshot.find(HIDDEN_TABLE.split("."))
        assert table is not None
        # sue may discover the table, so that her denial has its id; the denial of vic has its name.
        acme.add("sue")
        assert acme.give("sue", "viewer", HIDDEN_TABLE).status_code == 201
        for who in ("vic", "sue"):
            audits.made_by(lambda who=who: asked(acme, who, route, HIDDEN, "salaries", ""))

        for resource in (HIDDEN_TABLE, table.id):
            query = {"resource": resource, "action": "table.drop"}
            items = acme.call("owner", "GET", "/audit/decisions", **query).json()["items"]
            assert [each["resource"] for each in items][:2] == [table.id, HIDDEN_TABLE]

    def test_every_catalog_route_records_what_it_refuses_to_a_viewer(
        self, world: DeploymentHarness, acme: OrganizationClient, audits: Audits
    ) -> None:
        for route in sorted(catalog_routes(world)):
            answer, found = audits.made_by(lambda route=route: asked(acme, "vic", route, "raw", "flights", "seen"))
            if route not in REFUSED:
                assert (answer.status_code < 300, found) == (True, []), (route, answer.text)
                continue
            assert answer.status_code == 403, (route, answer.text)
            record = only(acme, found)
            assert by(acme, "vic", record), route
            action, name = REFUSED[route]
            resource = acme.control.snapshot.find(name.split("."))
            assert resource is not None
            assert (record.action, record.resource, record.code) == (action, resource.id, "refused"), route

    def test_every_catalog_route_records_an_unknown_caller(
        self, world: DeploymentHarness, acme: OrganizationClient, audits: Audits
    ) -> None:
        for route in sorted(catalog_routes(world)):
            for place, who in (
                (acme, ""),
                (OrganizationClient(acme.http, acme.opened, acme.address, world.tokens), "owner"),
            ):
                answer, found = audits.made_by(
                    lambda route=route, place=place, who=who: asked(place, who, route, "raw", "flights", "seen")
                )
                assert answer.status_code == 401, route
                record = only(acme, found)
                assert (record.principal, record.code, record.origin.door) == (None, "unauthenticated", "iceberg")
                assert record.action.startswith(route.partition(" ")[0]), route

    def test_a_denial_is_recorded_by_the_organization_of_an_expired_token(
        self, world: DeploymentHarness, acme: OrganizationClient, audits: Audits
    ) -> None:
        acme.add("gone")
        assert asked(acme, "gone", "GET /v1/config", "", "", "").status_code == 200
        token = acme.caller("gone").token
        assert token is not None
        acme.control.execute(RevokeToken(token), None)
        anywhere = OrganizationClient(acme.http, acme.opened, "", acme.tokens)

        answer, found = audits.made_by(lambda: asked(anywhere, "gone", "GET /v1/config", "", "", ""))

        assert answer.status_code == 401
        assert only(acme, found).code == "unauthenticated"
        assert world.opened.id != acme.opened.id

    def test_a_denial_is_recorded_by_a_suspended_organization(self, world: DeploymentHarness, audits: Audits) -> None:
        place = world.organization("closed", "nekt")
        place.control.execute(SuspendOrganization(place.opened.id), None)

        answer, found = audits.made_by(lambda: asked(place, "owner", "GET /v1/config", "", "", ""))

        assert answer.status_code == 403
        assert only(place, found).code == "suspended"

    @pytest.mark.parametrize(
        "route", ["GET /v1/namespaces/{namespace}/tables/{table}", "GET /v1/namespaces/{namespace}"]
    )
    def test_a_missing_name_denies_an_owner_nothing(self, acme: OrganizationClient, audits: Audits, route: str) -> None:
        answer, found = audits.made_by(lambda: asked(acme, "owner", route, MISSING, "t", "v"))

        assert (answer.status_code, found) == (404, [])

    def test_a_view_that_is_asked_for_as_a_table_is_no_denial(self, acme: OrganizationClient, audits: Audits) -> None:
        route = "GET /v1/namespaces/{namespace}/tables/{table}"

        answer, found = audits.made_by(lambda: asked(acme, "vic", route, "raw", "seen", ""))

        assert (answer.status_code, found) == (404, [])

    def test_an_address_that_is_not_served_is_no_denial(self, acme: OrganizationClient, audits: Audits) -> None:
        answer, found = audits.made_by(lambda: catalog(acme, "vic", "GET", "/v1/nonsense"))

        assert (answer.status_code, found) == (404, [])


def authzen(place: OrganizationClient, who: str, body: Any, path: str = EVALUATION) -> httpx.Response:
    headers = {"authorization": f"Bearer {place.tokens[who]}"} if who else {}
    return place.http.post(f"{place.address}{path}", json=body, headers=headers)


def about(subject: str, action: str = "table.select", resource: str = "lake.raw.flights") -> dict[str, Any]:
    return {
        "subject": {"type": "user", "id": subject},
        "action": {"name": action},
        "resource": {"type": "table", "id": resource},
    }


class TestAuthZen:
    @pytest.mark.parametrize(
        "path", ["evaluation", "evaluations", "search/resource", "search/action", "search/subject"]
    )
    def test_a_denial_about_others_is_recorded(self, acme: OrganizationClient, audits: Audits, path: str) -> None:
        answer, found = audits.made_by(lambda: authzen(acme, "vic", about("ed"), f"/access/v1/{path}"))

        assert answer.status_code == 403, answer.text
        record = only(acme, found)
        assert by(acme, "vic", record)
        assert (record.action, record.resource) == ("organization.ask", acme.opened.id)
        assert (record.code, record.origin.door) == ("refused", "authzen")

    def test_refused_evaluations_of_a_request_are_one_record(self, acme: OrganizationClient, audits: Audits) -> None:
        body = {**about("ed"), "evaluations": [{}, {"resource": {"type": "table", "id": HIDDEN_TABLE}}, {}]}

        answer, found = audits.made_by(lambda: authzen(acme, "vic", body, "/access/v1/evaluations"))

        assert [each["decision"] for each in answer.json()["evaluations"]] == [False] * 3
        assert by(acme, "vic", only(acme, found))

    def test_a_repeated_question_of_a_request_is_one_record(self, acme: OrganizationClient, audits: Audits) -> None:
        absent = {"type": "table", "id": "x" * 1000}
        body = {**about("vic"), "resource": absent, "evaluations": [{}] * 1000}

        answer, found = audits.made_by(lambda: authzen(acme, "owner", body, "/access/v1/evaluations"))

        assert len(answer.json()["evaluations"]) == 1000
        assert [record.resource for _, record in found] == ["x" * 1000]

    @pytest.mark.parametrize("path", ["evaluation", "search/resource"])
    def test_an_unknown_caller_of_authzen_is_recorded(
        self, world: DeploymentHarness, acme: OrganizationClient, audits: Audits, path: str
    ) -> None:
        stranger = OrganizationClient(acme.http, acme.opened, acme.address, world.tokens)
        for place, who in ((acme, ""), (stranger, "owner")):
            answer, found = audits.made_by(
                lambda place=place, who=who: authzen(place, who, about("ed"), f"/access/v1/{path}")
            )
            assert answer.status_code == 401
            record = only(acme, found)
            assert (record.principal, record.code) == (None, "unauthenticated")
            assert (record.action, record.origin.door) == (f"POST /access/v1/{path}", "authzen")

    def test_a_denial_about_an_unknown_subject_names_the_asker(self, acme: OrganizationClient, audits: Audits) -> None:
        answer, found = audits.made_by(lambda: authzen(acme, "owner", about("nosuch", resource=MISSING_TABLE)))

        assert answer.json()["decision"] is False
        record = only(acme, found)
        assert by(acme, "owner", record)
        assert (record.action, record.resource, record.code) == ("table.select", MISSING_TABLE, "no-principal")

    def test_a_denial_names_its_subject_and_the_callers_token(self, acme: OrganizationClient, audits: Audits) -> None:
        answer, found = audits.made_by(lambda: authzen(acme, "owner", about("vic", "table.drop")))

        assert answer.json()["decision"] is False
        record = only(acme, found)
        assert (record.principal, record.origin.token) == (acme.caller("vic").principal, acme.caller("owner").token)
        assert record.code == "denied"

    def test_an_allowed_answer_makes_no_record(self, acme: OrganizationClient, audits: Audits) -> None:
        answer, found = audits.made_by(lambda: authzen(acme, "vic", about(acme.caller("vic").principal)))

        assert (answer.json(), found) == ({**answer.json(), "decision": True}, [])


class TestTheGatewayOfSpark:
    @pytest.fixture
    def gateway(self, world: DeploymentHarness) -> Iterator[httpx.Client]:
        """A client of the endpoint that the gateway asks."""
        deployment = world.deployment
        drivers = Drivers(deployment.organizations, deployment.home, ("*",), Clusters())
        knowing = CredentialResolver(deployment, world.sparks, drivers)
        authority = DecidingAuthority(knowing.resolve, lambda: world.sparks.all, AbandonedSessions())
        freshness = FreshnessBarrier(deployment.organizations)
        app = gateway_application(authority, knowing.resolve_cached, "key", freshness, knowing.record_denial)
        with served(app) as address, httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
            client.headers["authorization"] = "Bearer key"
            yield client

    def ask(self, gateway: httpx.Client, kind: type, secret: str, organization: str, **more: str) -> httpx.Response:
        credential = {"token": secret, "organization": organization}
        return gateway.post(message_path(kind), json={"credential": credential, **more})

    def test_an_unknown_caller_of_the_gateway_is_recorded(
        self, world: DeploymentHarness, acme: OrganizationClient, audits: Audits, gateway: httpx.Client
    ) -> None:
        for secret in ("hgt.no.body", world.tokens["owner"]):
            answer, found = audits.made_by(lambda secret=secret: self.ask(gateway, Authenticate, secret, "acme"))
            assert (answer.status_code, answer.json()) == (200, None)
            record = only(acme, found)
            assert (record.principal, record.code, record.origin.door) == (None, "unauthenticated", "spark")

    def test_a_member_of_a_suspended_organization_is_recorded(
        self, world: DeploymentHarness, audits: Audits, gateway: httpx.Client
    ) -> None:
        place = world.organization("halted", "nekt")
        place.control.execute(SuspendOrganization(place.opened.id), None)

        answer, found = audits.made_by(lambda: self.ask(gateway, Authenticate, place.tokens["owner"], ""))

        assert answer.status_code == 409
        assert only(place, found).code == "suspended"

    def test_a_path_that_the_gateway_refuses_is_recorded_without_its_text(
        self, acme: OrganizationClient, audits: Audits, gateway: httpx.Client
    ) -> None:
        path = {"action": "path.read", "path": "s3a://key:secret@bucket/file"}

        answer, found = audits.made_by(lambda: self.ask(gateway, MayAccessMessage, acme.tokens["vic"], "", **path))

        assert answer.json() is False
        record = only(acme, found)
        assert by(acme, "vic", record)
        assert (record.action, record.resource, record.code) == ("path.read", "", "refused")

    def test_a_known_caller_of_the_gateway_makes_no_record(
        self, acme: OrganizationClient, audits: Audits, gateway: httpx.Client
    ) -> None:
        answer, found = audits.made_by(lambda: self.ask(gateway, Authenticate, acme.tokens["vic"], ""))

        assert (answer.json()["caller"]["principal"], found) == (acme.caller("vic").principal, [])


def test_a_hidden_name_in_a_session_is_recorded_once(world: DeploymentHarness, audits: Audits) -> None:
    world.add("spark-user")
    handle, at = world.sessions.open(world.caller("spark-user"), "s"), int(time.time())
    target = f"/v1/namespaces/{HIDDEN}/tables/t"
    headers = {
        "authorization": f"Bearer {handle}",
        "x-headgate-time": str(at),
        "x-headgate-signature": sign(KEY, "GET", f"/iceberg{target}", at, handle, b""),
    }

    answer, found = audits.made_by(lambda: world.http.get(f"/iceberg{target}", headers=headers))

    assert (answer.status_code, found) == (404, [])
