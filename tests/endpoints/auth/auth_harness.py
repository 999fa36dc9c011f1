"""The endpoints for logins over a store in memory, served on loopback, with an organization whose owner is ann."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from headgate.control.authentication.authenticator import Authenticator
from headgate.control.authentication.services import open_auth_services
from headgate.control.authentication.settings import LoginSettings
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.identity.principals import AddPrincipal, CreateServicePrincipal
from headgate.control.identity.tokens import IssueToken, format_token
from headgate.control.organizations.audit_recorder import AuditRecorder
from headgate.control.organizations.organization import Organization
from headgate.decision.types import Question
from headgate.endpoints import auth
from headgate.endpoints.common import problems
from headgate.endpoints.common.context import AppState, CurrentCaller, CurrentOrganization
from headgate.endpoints.http import hosts
from headgate.endpoints.http.organization_path import OrganizationPathMiddleware
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.spark.authority import PresentedCredential
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import Execution, SqlLimits, StatementRequest
from tests.control.authentication.auth_services_harness import FAST, PASSWORD
from tests.fakes.store import FakeStores

BOT = PrincipalId("bot")
ACME = ResourceId("acme")


class NoSpark:
    """A Spark that the tests never use."""

    def wake(self) -> None:
        raise NotImplementedError

    def begin(self, credential: PresentedCredential, wanted: StatementRequest) -> Execution:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class AuthHarness:
    """The endpoints and the services behind them; the clock shows `now`, which the test sets."""

    def __init__(self, **settings: Any) -> None:
        self.now = 1_000_000.0
        self.stores = FakeStores()
        self.organizations = open_organizations(self.stores, lambda: self.now, "nekt")
        self.settings = replace(LoginSettings(hashing=FAST, device_interval=0.0), **settings)
        self.auth_services = open_auth_services(self.organizations, self.settings)
        self.ann = self.auth_services.authentication.register("ann", password=PASSWORD)
        self.acme = self.organization(ACME, self.ann)
        self.app = self._app()
        self.url = ""

    def organization(self, root: ResourceId, owner: PrincipalId) -> Organization:
        return create_organization(self.organizations, OrganizationSpec(root, root, owner, "the owner", "nekt"))

    def bot(self, token: str, *, only: tuple[str, ...] | None = None) -> str:
        """Return the secret of a new token of the service principal `bot`; create the principal if necessary."""
        if BOT not in self.acme.control.snapshot.principals:
            self.acme.control.execute(CreateServicePrincipal(BOT, "the bot", "member"), None)
        self.acme.control.execute(IssueToken(TokenId(token), "s3cret", BOT, actions=only), None)
        return format_token(TokenId(token), "s3cret")

    def member(self, name: str) -> PrincipalId:
        """Create a user with a password who is a member of the organization."""
        id = self.auth_services.authentication.register(name, password=PASSWORD)
        self.acme.control.execute(AddPrincipal(id, name, "member"), None)
        return id

    def _app(self) -> FastAPI:
        app = FastAPI()
        known = Authenticator(
            self.stores, self.auth_services.authentication.principal_of, self.auth_services.access_tokens.authenticate
        )
        self.audit = AuditRecorder(self.stores)
        app.state.deployed = AppState(
            self.organizations, known, self.audit, NoSpark(), StatementStore(NoSpark(), SqlLimits()), dict
        )
        problems.install_problem_handlers(app)
        auth.install_auth(app, self.auth_services)
        app.add_middleware(OrganizationPathMiddleware)
        hosts.install_hosts(app, self.settings.address)

        @app.get("/api/v1/me")
        def me(organization: CurrentOrganization, caller: CurrentCaller) -> dict[str, Any]:
            question = Question(caller, "organization.add_user", organization.id)
            adds = organization.control.ask(question).allowed
            return {"principal": caller.principal, "token": caller.token, "adds_users": adds}

        return app

    def login(self, http: httpx.Client, name: str = "ann", *, cookie: bool = False) -> dict[str, Any]:
        """Log in and return the answer; the client uses the session from now on."""
        answer = http.post("/api/v1/login", json={"login": name, "password": PASSWORD, "cookie": cookie})
        assert answer.status_code == 201, answer.text
        body: dict[str, Any] = answer.json()
        if cookie:
            http.headers["x-csrf-token"] = body["csrf"]
        else:
            http.headers["authorization"] = f"Bearer {body['session']}"
        return body


class Front:
    """An application that passes requests to the current world, because starting a server takes longer than a test."""

    def __init__(self) -> None:
        self.url = ""
        self.world: AuthHarness | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            assert self.world is not None
            await self.world.app(scope, receive, send)

    @contextmanager
    def serving(self, world: AuthHarness) -> Iterator[httpx.Client]:
        """Serve the endpoints of a world, and yield a client of them."""
        self.world, world.url = world, self.url
        with httpx.Client(base_url=self.url, trust_env=False, timeout=30) as http:
            yield http
        world.audit.close()
