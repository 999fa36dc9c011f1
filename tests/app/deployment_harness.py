"""A deployment without Spark: every endpoint but the driver's, on a store in a temporary folder of the test."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.http.application import http_application
from headgate.app.settings.settings import Settings
from headgate.control.control import Control
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization
from headgate.control.identity.principals import AddPrincipal, CreateServicePrincipal
from headgate.control.identity.tokens import IssueToken, format_token, parse_token
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.spark.authority import PresentedCredential
from headgate.spark.sessions.registry import SparkRegistry
from headgate.spark.sql.statements import Execution, StatementError, StatementRequest
from tests.egress import OPEN
from tests.threads import served

KEY = b"k" * 32


class NoSpark:
    """A statement service that answers every statement as the real one does before Spark is ready."""

    def begin(self, credential: PresentedCredential, wanted: StatementRequest) -> Execution:
        """Refuse the statement."""
        raise StatementError("Spark is starting; try again in a few seconds", None, "UNAVAILABLE")

    def close(self) -> None:
        """Do nothing: no statement is open."""

    def wake(self) -> None:
        """Leave runs queued."""


class OrganizationClient:
    """One organization at the address of its endpoints, and clients with its principals' tokens. Its owner is `owner`."""

    def __init__(self, http: httpx.Client, opened: Organization, address: str, tokens: dict[str, str]) -> None:
        self.http = http
        self.opened = opened
        self.address = address
        self.tokens = tokens

    @property
    def control(self) -> Control:
        """The commands and questions of the organization."""
        return self.opened.control

    def call(self, who: str, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Return the answer to a request of this principal."""
        return self.send(who, method, path, body, {}, **query)

    def send(self, who: str, method: str, path: str, body: Any, headers: Mapping[str, str], **query: Any) -> Any:
        """Return the answer to a request of this principal with additional headers."""
        known = {"authorization": f"Bearer {self.tokens[who]}", **headers}
        return self.http.request(method, f"{self.address}/api/v1{path}", json=body, params=query, headers=known)

    def result(self, who: str, method: str, path: str, body: Any = None) -> Any:
        """Return the body of the answer to the call of a principal; the call must succeed."""
        answer = self.call(who, method, path, body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def create(self, path: str, body: Any, by: str = "owner") -> str:
        """Create a resource with a POST and return its id."""
        return str(self.result(by, "POST", path, body)["id"])

    def add(self, name: str, role: str = "member", place: str | None = None) -> PrincipalId:
        """Add a user with a token, and with a role on the organization or on the resource `place`."""
        id = PrincipalId(new_id("p"))
        self.control.execute(AddPrincipal(id, name, role, ResourceId(place) if place else None), None)
        self.tokens[name] = self.token(id)
        return id

    def program(self, name: str, role: str | None = None, scope: str | None = None) -> PrincipalId:
        """Add a service principal with a token."""
        id = PrincipalId(new_id("p"))
        self.control.execute(CreateServicePrincipal(id, name, role, scope), None)
        self.tokens[name] = self.token(id)
        return id

    def token(self, principal: PrincipalId) -> str:
        """Return a new token of this principal."""
        id, secret = TokenId(new_id("t")), secrets.token_urlsafe(32)
        self.control.execute(IssueToken(id, secret, principal), None)
        return format_token(id, secret)

    def give(self, name: str, role: str, resource: str, by: str = "owner") -> Any:
        """Assign a role through the API."""
        return self.call(by, "POST", "/assignments", {"subject": name, "role": role, "resource": resource})

    def caller(self, name: str) -> Caller:
        """Return the caller for the token of this name."""
        presented = parse_token(self.tokens[name])
        assert presented is not None
        return Caller(self.control.snapshot.tokens[presented[0]].principal, presented[0])


class DeploymentHarness(OrganizationClient):
    """The endpoints of a deployment; its requests go to the home organization, which needs no address."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.sparks = SparkRegistry(
            deployment.external_access_of, lambda *_: KEY, lambda organization: organization is deployment.home
        )
        self.sessions = self.sparks.of(deployment.home).sessions
        self.app = http_application(
            deployment,
            FreshnessBarrier(deployment.organizations),
            self.sparks,
            NoSpark(),
            NoSpark(),
            lambda: {"api": "ok"},
        )
        owner = deployment.settings.owner_token.read_text(encoding="utf-8").strip()
        super().__init__(httpx.Client(trust_env=False, timeout=60), deployment.home, "", {"owner": owner})

    def organization(self, name: str, model: str, tree: str | None = None, *, id: str = "") -> OrganizationClient:
        """Return a new organization of this model and id, with an ownership tree of the model `tree` if given."""
        owner = PrincipalId(new_id("p"))
        founding = OrganizationSpec(ResourceId(id or new_id("o")), name, owner, "owner", model, tree)
        place = OrganizationClient(
            self.http, create_organization(self.deployment.organizations, founding), f"/o/{name}", {}
        )
        place.tokens["owner"] = place.token(owner)
        return place


def settings_in(folder: Path) -> Settings:
    """Return settings for a deployment in the folder, on free ports."""
    return Settings(folder / "data", folder / "cache", None, api_port=0, gateway_port=0, egress=OPEN)


@contextmanager
def world_in(folder: Path, *, founding: bool = True) -> Iterator[DeploymentHarness]:
    """Open a deployment; create the databases `raw` and `secret` in it unless `founding` is false, because they exist."""
    deployment = open_deployment(settings_in(folder))
    try:
        world = DeploymentHarness(deployment)
        with serving(world, founding=founding):
            yield world
    finally:
        deployment.close()


@contextmanager
def serving(world: DeploymentHarness, *, founding: bool = True) -> Iterator[None]:
    """Serve a deployment's endpoints, and create the databases `raw` and `secret` unless they exist."""
    with served(world.app) as address, world.http:
        world.http.base_url = httpx.URL(address)
        for name in ("raw", "secret") if founding else ():
            assert world.call("owner", "POST", "/databases", {"name": name}).status_code == 201
        yield
