"""AuthZEN over real HTTP, in front of the application that serves all other routes."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from headgate.app.http.middleware import build_front
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization
from headgate.control.kernel.audit_records import AuditFilter
from headgate.endpoints.authzen.endpoints import ENDPOINTS, WELL_KNOWN
from headgate.facts.ids import ResourceId
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.endpoints.authzen.authzen_client import asked
from tests.threads import served

PATH = "/access/v1/evaluation"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("authzen")) as opened:
        yield opened


@pytest.fixture(scope="module")
def front(world: DeploymentHarness) -> Iterator[httpx.Client]:
    """The endpoints with their middleware, as the network sees them."""
    with (
        served(build_front(world.app, world.deployment).app) as address,
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        yield client


def own(world: DeploymentHarness, action: str, resource: str, **more: Any) -> dict[str, Any]:
    """Return an evaluation of the owner about themselves."""
    return asked(world.caller("owner").principal, action, resource, **more)


def headers(world: DeploymentHarness, who: str = "owner", **more: str) -> dict[str, str]:
    return {"authorization": f"Bearer {world.tokens[who]}", **more}


class TestAnAnswer:
    def test_an_answer_is_json_and_has_the_id_of_the_request(
        self, world: DeploymentHarness, front: httpx.Client
    ) -> None:
        told = front.post(
            PATH,
            json=own(world, "database.describe", "lake.raw"),
            headers=headers(world, **{"x-request-id": "bfe9eb29-ab87"}),
        )

        assert (told.status_code, told.headers["content-type"], told.headers["x-request-id"]) == (
            200,
            "application/json",
            "bfe9eb29-ab87",
        )
        assert told.json()["decision"] is True

    def test_an_answer_is_about_the_organization_in_the_request_path(
        self, world: DeploymentHarness, front: httpx.Client
    ) -> None:
        owner = world.caller("owner").principal
        other = create_organization(
            world.deployment.organizations, OrganizationSpec(ResourceId("o-2"), "second", owner, "owner", "nekt")
        )
        secret = world.token(owner)
        bearer = {"authorization": f"Bearer {secret}"}

        mine = front.post(PATH, json=own(world, "database.describe", "lake.raw"), headers=bearer)
        named = front.post(
            f"/o/{world.opened.id}{PATH}", json=own(world, "database.describe", "lake.raw"), headers=bearer
        )
        theirs = front.post(f"/o/second{PATH}", json=own(world, "database.describe", "lake.raw"), headers=bearer)

        assert (mine.json()["decision"], named.json()["decision"], theirs.status_code) == (True, True, 401)
        assert other.id == "o-2"

    def test_evaluations_and_searches_are_answered_over_http(
        self, world: DeploymentHarness, front: httpx.Client
    ) -> None:
        body = {**own(world, "database.describe", "lake.raw"), "evaluations": [{}, {}]}
        several = front.post("/access/v1/evaluations", json=body, headers=headers(world))
        search = front.post(
            "/access/v1/search/resource", json=own(world, "database.describe", "x"), headers=headers(world)
        )

        assert [each["decision"] for each in several.json()["evaluations"]] == [True, True]
        assert len(search.json()["results"]) == 2

    def test_an_explained_evaluation_is_answered_over_http(self, world: DeploymentHarness, front: httpx.Client) -> None:
        body = own(world, "database.describe", "lake.raw", context={"explain": True})

        assert front.post(PATH, json=body, headers=headers(world)).json()["context"]["paths"]


class TestARefusal:
    @pytest.mark.parametrize("secret", ["", "Bearer", "Bearer hgt.a.b", "Basic b3duZXI6eA==", "Bearer x"])
    def test_a_request_without_a_valid_token_is_unauthorized_in_plain_text(
        self, front: httpx.Client, secret: str
    ) -> None:
        told = front.post(PATH, json={}, headers={"authorization": secret} if secret else {})

        assert (told.status_code, told.headers["www-authenticate"]) == (401, "Bearer")
        assert told.headers["content-type"].startswith("text/plain")

    def test_a_request_with_an_invalid_body_is_a_bad_request(
        self, world: DeploymentHarness, front: httpx.Client
    ) -> None:
        for body, type in ((b"{", "application/json"), (b"", "application/json"), (b"{}", "text/plain")):
            told = front.post(PATH, content=body, headers=headers(world, **{"content-type": type}))

            assert told.status_code == 400

    def test_a_denial_is_recorded_in_the_audit(self, world: DeploymentHarness, front: httpx.Client) -> None:
        world.add("vic")
        vic = world.caller("vic").principal
        body = asked(vic, "database.alter", "lake.secret")

        assert front.post(PATH, json=body, headers=headers(world, "vic")).json()["decision"] is False

        audit = world.deployment.audit
        audit.close()
        kept = world.deployment.stores.audit_records(world.opened.id, AuditFilter(principal=vic))
        assert [(each.action, each.allowed, each.origin.door) for _, each in kept] == [
            ("database.alter", False, "authzen")
        ]


class TestDiscovery:
    @pytest.mark.parametrize("organization", ["", "/o/acme", "/o/a%20b"])
    def test_the_discovery_document_names_the_decision_point_of_its_path(
        self, front: httpx.Client, organization: str
    ) -> None:
        told = front.get(f"{WELL_KNOWN}{organization}")

        point = f"{str(front.base_url).rstrip('/')}{organization}"
        assert told.headers["content-type"] == "application/json"
        assert told.json() == {"policy_decision_point": point} | {
            each.named: f"{point}{each.path}" for each in ENDPOINTS
        }

    @pytest.mark.parametrize("path", ["x", "/", "/x", "/o/", "/o/a/b"])
    def test_a_discovery_document_for_an_invalid_path_is_missing(self, front: httpx.Client, path: str) -> None:
        assert front.get(f"{WELL_KNOWN}{path}").status_code == 404


def test_a_method_other_than_post_is_not_served(front: httpx.Client) -> None:
    assert front.get(PATH).status_code == 404
