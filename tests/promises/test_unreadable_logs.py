"""An organization whose log cannot be read is refused, and the other organizations of the deployment are served."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headgate.control.deployment.operators import add_operator
from headgate.control.identity.principals import AddPrincipal
from headgate.control.kernel.audit_records import AuditFilter
from headgate.control.kernel.metadata import INTERNAL
from headgate.control.organizations.commands import DEPLOYMENT
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.app.server_process import until
from tests.endpoints.api.resources.test_organizations import asked, login

DAMAGES = ("changes = 'x'", "changes = replace(changes, 'model_hash\":\"', 'model_hash\":\"0')", "grounds = '{'")


@dataclass
class Damaged:
    """A deployment with a damaged log of the organization `beta`, and the login of a user who is in both organizations."""

    world: DeploymentHarness
    beta_token: str
    login: str


@pytest.fixture(params=DAMAGES)
def damaged(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Damaged]:
    with world_in(tmp_path) as world:
        beta = world.organization("beta", "nekt")
        token = beta.tokens["owner"]
        secret = login(world, "ann")
        ann = world.deployment.auth_services.authentication.user_of("ann").principal
        for place in (world, beta):
            place.control.execute(AddPrincipal(ann, "ann", "member"), None)
        add_operator(world.deployment.organizations.deployment.control, ann, INTERNAL)
    with sqlite3.connect(tmp_path / "data" / "headgate.db") as database:
        database.execute(f"UPDATE log SET {request.param} WHERE log_id = ?", (beta.opened.id,))
        database.execute("DELETE FROM checkpoints")
    with world_in(tmp_path, founding=False) as world:
        yield Damaged(world, token, secret)


def test_another_organization_is_served_beside_an_unreadable_one(damaged: Damaged) -> None:
    world = damaged.world

    assert world.call("owner", "GET", "/databases").status_code == 200
    assert asked(world, damaged.login, "GET", "/o/main/api/v1/me").status_code == 200


def test_a_request_to_an_unreadable_organization_is_unavailable_and_reveals_nothing(damaged: Damaged) -> None:
    for answer in (
        asked(damaged.world, damaged.beta_token, "GET", "/api/v1/me"),
        asked(damaged.world, damaged.login, "GET", "/o/beta/api/v1/me"),
    ):
        assert answer.status_code == 503
        assert answer.json()["detail"] == (
            "the store is unavailable; retry later, or ask the operator of this deployment to look for the reason in the "
            "server's log"
        )


def test_a_login_that_may_be_in_an_unreadable_organization_has_to_name_one(damaged: Damaged) -> None:
    answer = asked(damaged.world, damaged.login, "GET", "/api/v1/me")

    assert answer.status_code == 400
    assert "cannot be read" in answer.json()["detail"]


def test_an_operator_sees_which_organization_is_unreadable(damaged: Damaged) -> None:
    items = asked(damaged.world, damaged.login, "GET", "/api/v1/deployment/organizations").json()["items"]

    assert {each["name"]: each["state"] for each in items} == {"main": "active", "beta": "unreadable"}


def test_a_denial_in_an_unreadable_organization_is_in_the_audit_of_the_deployment(damaged: Damaged) -> None:
    world = damaged.world

    assert world.http.post("/o/beta/api/v1/users", json={}).status_code == 401

    until(lambda: world.deployment.audit.backlog == 0, lambda: "the audit is not written")
    kept = world.deployment.stores.audit_records(DEPLOYMENT, AuditFilter(), limit=10)
    assert [(each.action, each.code) for _, each in kept] == [("POST /users", "unauthenticated")]
