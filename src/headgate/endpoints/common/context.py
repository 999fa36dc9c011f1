"""What the endpoints are given: the organizations' questions and commands, and who can say who is asking."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

import anyio.to_thread
from fastapi import Depends, Request

from headgate.control.authentication.authenticator import Authenticator
from headgate.control.connections.vault import NO_VAULT, Vault
from headgate.control.identity.authenticated_principal import AuthenticatedPrincipal
from headgate.control.kernel.errors import SuspendedError
from headgate.control.organizations.audit_recorder import AuditRecorder
from headgate.control.organizations.organization import Organization, Organizations, SeveralOrganizationsError
from headgate.control.pipelines.clusters import EMBEDDED
from headgate.endpoints.common.cookies import require_presented_secret
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.request_scope import CALLER, ORGANIZATION_KEY
from headgate.facts.caller import Caller
from headgate.pipelines.connections.egress import Egress
from headgate.pipelines.definitions.chart_renderer import chart_pool
from headgate.spark.authority import PresentedCredential
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import NO_DRIVER
from headgate.untrusted_input.blocking_pool import BlockingPool

_NOBODY = (
    "the token or session is not known here, has ended, or is not for the organization that the request names; send one "
    "as `Authorization: Bearer <secret>`"
)


class RunNotifier(Protocol):
    """Carries out queued runs of pipelines."""

    def wake(self) -> None:
        """Look at once whether there is a run to carry out. Returns at once."""
        ...


@dataclass(frozen=True, slots=True)
class AppState:
    """Everything that the endpoints of a deployment may use."""

    organizations: Organizations
    identity: Authenticator
    audit: AuditRecorder
    runner: RunNotifier
    statements: StatementStore
    health: Callable[[], Mapping[str, Any]]
    has_spark: Callable[[Organization], bool] = lambda _: True
    vault: Vault = NO_VAULT
    clusters: tuple[str, ...] = (EMBEDDED,)
    """What operators have configured for runs to execute on."""
    egress: Callable[[Organization], Egress] = lambda _: Egress()
    """What decides about an organization's connections; by default they reach nothing."""
    charts: BlockingPool = field(default_factory=chart_pool)
    """What draws charts."""

    def authenticate(self, named: str | None, secret: str) -> tuple[Organization, Caller]:
        """Return the organization that a request is for, and the caller there.

        Raises `ProblemError` 401 for an unknown caller, 403 for one of a suspended organization, and 400 where the caller
        has to name an organization. An organization that is not there and one that the caller is not in look the same.
        """
        presented = self.identity.authenticate(secret)
        if presented is None:
            raise ProblemError(401, "unauthenticated", _NOBODY)
        organization = self._addressed(presented, named)
        caller = organization.caller(presented) if organization else None
        if organization is None or caller is None:
            if organization is not None and organization.is_suspended_for(presented):
                raise ProblemError(403, "suspended", str(SuspendedError()), addressed=organization)
            raise ProblemError(401, "unauthenticated", _NOBODY, addressed=organization)
        return organization, caller

    def authenticate_cached(self, secret: str) -> tuple[Organization, Caller] | None:
        """Return the same for a token, if nothing has to be looked up for that; else None. Never waits."""
        presented = self.identity.cached(secret)
        if presented is None or presented.organization is None:
            return None
        organization = self.organizations.if_open(presented.organization)
        caller = organization.caller(presented) if organization else None
        return None if organization is None or caller is None else (organization, caller)

    def _addressed(self, presented: AuthenticatedPrincipal, named: str | None) -> Organization | None:
        try:
            return self.organizations.resolve_addressed(presented, named)
        except SeveralOrganizationsError as error:
            raise ProblemError(
                400,
                "organization-needed",
                f"{error}; name one as `/o/{{organization}}` before the path",
                organizations=error.organizations,
            ) from None


def deployed(request: Request) -> AppState:
    """Return what the application was wired with."""
    found: AppState = request.app.state.deployed
    return found


async def app_state_async(request: Request) -> AppState:
    """Return the same, where the framework would take a thread for what might wait."""
    return deployed(request)


async def access(request: Request) -> tuple[Organization, Caller]:
    """Return which organization a request is for, and who asks; or answer 401."""
    named, secret = request.scope.get(ORGANIZATION_KEY), require_presented_secret(request)
    found = deployed(request).authenticate_cached(secret) if named is None else None
    if found is None:
        found = await anyio.to_thread.run_sync(deployed(request).authenticate, named, secret)
    request.scope[CALLER] = found
    return found


Access = Annotated[tuple[Organization, Caller], Depends(access)]


async def require_spark_of_request(request: Request, found: Access) -> None:
    """Raise `ProblemError` for an organization that has no Spark here."""
    require_spark(deployed(request), found[0])


def require_spark(deployed: AppState, organization: Organization) -> None:
    """Raise the same, for an organization that is known already."""
    if not deployed.has_spark(organization):
        raise ProblemError(404, "no-spark", NO_DRIVER)


async def requested_organization(found: Access) -> Organization:
    """Return the organization that a request is for."""
    return found[0]


async def caller(found: Access) -> Caller:
    """Return who is asking."""
    return found[1]


async def credential(request: Request, found: Access) -> PresentedCredential:
    """Return what the caller presents to Spark: for the organization of this request, and for no other."""
    return PresentedCredential(require_presented_secret(request), found[0].id)


CurrentApp = Annotated[AppState, Depends(app_state_async)]
CurrentOrganization = Annotated[Organization, Depends(requested_organization)]
CurrentCaller = Annotated[Caller, Depends(caller)]
Presents = Annotated[PresentedCredential, Depends(credential)]
PresentedSecret = Annotated[str, Depends(require_presented_secret)]
