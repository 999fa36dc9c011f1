"""Dependencies of the endpoints: the deployment's state, and the organization and the caller of a request (authentication)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Protocol

import anyio.to_thread
from fastapi import Depends, Request

from headgate.control.authentication.authenticator import Authenticator
from headgate.control.authentication.caller_resolver import CallerResolver, ResolvedCaller, UnknownCallerError
from headgate.control.connections.vault import NO_VAULT, Vault
from headgate.control.kernel.errors import SuspendedError
from headgate.control.organizations.audit_recorder import AuditRecorder
from headgate.control.organizations.organization import Organization, Organizations, SeveralOrganizationsError
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.endpoints.common.cookies import require_presented_secret
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.request_scope import CALLER, ORGANIZATION_KEY
from headgate.endpoints.common.write_queues import WriteQueues
from headgate.facts.caller import Caller
from headgate.pipelines.connections.egress import Egress
from headgate.pipelines.definitions.chart_renderer import chart_pool
from headgate.spark.authority import PresentedCredential
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import NO_DRIVER
from headgate.untrusted_input.blocking_pool import BlockingPool

CHOOSE_ORGANIZATION: Final = "put `/o/NAME` before the path, where NAME is one of your organizations"
"""The advice for a caller that is in several organizations and names none."""
_UNKNOWN_CALLER = (
    "the token or session is unknown, has expired, or is not valid for the organization that the request names; "
    "send a valid one as `Authorization: Bearer <token>`"
)


class RunNotifier(Protocol):
    """Interface of the worker that executes queued runs of pipelines."""

    def wake(self) -> None:
        """Wake the worker, so that it checks the queue immediately. Return without waiting for it."""
        ...


@dataclass(frozen=True, slots=True)
class AppState:
    """State of the deployment: every service that the endpoints may use."""

    organizations: Organizations
    identity: Authenticator
    audit: AuditRecorder
    runner: RunNotifier
    statements: StatementStore
    health: Callable[[], Mapping[str, Any]]
    has_spark: Callable[[Organization], bool] = lambda _: True
    vault: Vault = NO_VAULT
    clusters: tuple[str, ...] = (EMBEDDED,)
    """Names of the clusters that the operator has configured for runs."""
    egress: Callable[[Organization], Egress] = lambda _: Egress()
    """The egress rules for an organization's connections; by default no connection reaches anything."""
    write_queues: WriteQueues = field(default_factory=WriteQueues)
    charts: BlockingPool = field(default_factory=chart_pool)
    """The pool of processes that render charts."""

    @property
    def callers(self) -> CallerResolver:
        """The resolver of secrets to callers."""
        return CallerResolver(self.identity, self.organizations)

    def authenticate(self, named: str | None, secret: str) -> ResolvedCaller:
        """Authenticate a secret: return the organization that a request addresses, and the caller in it.

        `named` is the organization in the request's path, or None. Raises `ProblemError` 401 for an unknown caller, 403
        for a caller of a suspended organization, and 400 if the request must name an organization. An organization that
        does not exist and an organization that the caller is not in get the same error.
        """
        try:
            return self.callers.resolve(secret, named)
        except UnknownCallerError as error:
            if error.is_suspended:
                raise ProblemError(403, "suspended", str(SuspendedError()), addressed=error.addressed) from None
            raise ProblemError(401, "unauthenticated", _UNKNOWN_CALLER, addressed=error.addressed) from None
        except SeveralOrganizationsError as error:
            raise ProblemError(
                400,
                "organization-needed",
                f"{error}; {CHOOSE_ORGANIZATION}",
                organizations=error.organizations,
            ) from None


def deployed(request: Request) -> AppState:
    """Return the state that the application was created with."""
    found: AppState = request.app.state.deployed
    return found


async def app_state_async(request: Request) -> AppState:
    """Return the same state as `deployed`; a coroutine, because the framework runs a plain function in a thread."""
    return deployed(request)


async def access(request: Request) -> tuple[Organization, Caller]:
    """Return the organization that a request addresses, and its caller. Raises what `AppState.authenticate` raises."""
    named, secret = request.scope.get(ORGANIZATION_KEY), require_presented_secret(request)
    found = deployed(request).callers.resolve_cached(secret, named)
    if found is None:
        found = await anyio.to_thread.run_sync(deployed(request).authenticate, named, secret)
    request.scope[CALLER] = found
    return found


Access = Annotated[tuple[Organization, Caller], Depends(access)]


async def require_spark_of_request(request: Request, found: Access) -> None:
    """Raise `ProblemError` 404 if the organization of a request has no Spark on this server."""
    require_spark(deployed(request), found[0])


def require_spark(deployed: AppState, organization: Organization) -> None:
    """Raise `ProblemError` 404 if an organization has no Spark on this server."""
    if not deployed.has_spark(organization):
        raise ProblemError(404, "no-spark", NO_DRIVER)


async def requested_organization(found: Access) -> Organization:
    """Return the organization that a request addresses."""
    return found[0]


async def caller(found: Access) -> Caller:
    """Return the caller of a request."""
    return found[1]


async def credential(request: Request, found: Access) -> PresentedCredential:
    """Return the credential that the caller presents to Spark. It is valid for the organization of this request only."""
    return PresentedCredential(require_presented_secret(request), found[0].id)


CurrentApp = Annotated[AppState, Depends(app_state_async)]
CurrentOrganization = Annotated[Organization, Depends(requested_organization)]
CurrentCaller = Annotated[Caller, Depends(caller)]
Presents = Annotated[PresentedCredential, Depends(credential)]
PresentedSecret = Annotated[str, Depends(require_presented_secret)]
