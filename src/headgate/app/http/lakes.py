"""The lakes of a deployment, one for each organization, and the authentication of catalog requests."""

import threading
from collections.abc import Callable, Container
from functools import cache

from starlette.concurrency import run_in_threadpool

from headgate.app.settings.settings import Settings
from headgate.control.authentication.caller_resolver import CallerResolver, ResolvedCaller, UnknownCallerError
from headgate.control.kernel.audit_records import SUSPENDED, UNAUTHENTICATED
from headgate.control.kernel.errors import NotFoundError
from headgate.control.organizations.organization import Organization
from headgate.endpoints.iceberg_rest.catalog_callers import (
    Authenticated,
    CallerDeniedError,
    HttpRequest,
    Lake,
)
from headgate.facts.ids import ResourceId
from headgate.lake.catalog import TableCatalog
from headgate.lake.former_databases import FormerDatabases
from headgate.lake.object_warehouse import ObjectWarehouse
from headgate.lake.view_catalog import ViewCatalog
from headgate.lake.warehouse import FileWarehouse, Warehouse
from headgate.spark.sessions.driver_requests import SIGNATURE_HEADER
from headgate.spark.sessions.registry import SparkRegistry
from headgate.untrusted_input.blocking_pool import BlockingPool

_BEARER = "Bearer "
_VERIFIED_AT_ONCE = 64 * 1024
"""The size limit of bodies whose signature is verified on the event loop, within a tenth of a millisecond."""


def warehouse_of(settings: Settings, organization: ResourceId, former: Container[ResourceId] = ()) -> Warehouse:
    """Return the warehouse of an organization.

    `former` are its databases in whose folders an earlier version may have put tables.
    """
    if settings.bucket is not None:
        return ObjectWarehouse(settings.bucket, settings.s3.properties, organization, former)
    return FileWarehouse(settings.warehouse, organization, former)


@cache
def file_parsers() -> BlockingPool:
    """Return this process's pool of parsers for files that clients wrote. The parsers end with the process."""
    return BlockingPool()


class Lakes:
    """Opens each lake at its first use. Thread-safe."""

    def __init__(
        self, warehouse: Callable[[ResourceId, FormerDatabases], Warehouse], clock: Callable[[], float]
    ) -> None:
        """`warehouse` returns the warehouse of an organization, from its id and its former databases."""
        self._warehouse = warehouse
        self._clock = clock
        self._lock = threading.Lock()
        self._of: dict[ResourceId, Lake] = {}

    async def reach(self, organization: Organization) -> Lake:
        """Return the lake of an organization. A thread opens it at the first use, because that may wait for its storage."""
        return self._of.get(organization.id) or await run_in_threadpool(self.of, organization)

    def of(self, organization: Organization) -> Lake:
        """Return the lake of an organization. Its staged tables are kept while the process lives."""
        with self._lock:
            if organization.id not in self._of:
                self._of[organization.id] = self._open_lake(organization)
            return self._of[organization.id]

    def _open_lake(self, organization: Organization) -> Lake:
        store = organization.store
        warehouse = self._warehouse(organization.id, FormerDatabases(store))
        views = ViewCatalog(store, warehouse, self._clock)
        tables = TableCatalog(store, warehouse, file_parsers(), organization.id, self._clock)
        return Lake(organization, tables, views)


class CatalogAuthenticator:
    """Authenticates catalog requests: of a driver, for one of its sessions, or of a client with a token.

    A driver acts in its own organization, a client with a token in the one that `Organizations.resolve_addressed` returns.
    """

    def __init__(self, callers: CallerResolver, sparks: SparkRegistry, lakes: Lakes) -> None:
        self._callers = callers
        self._sparks = sparks
        self._lakes = lakes

    async def authenticate(self, sent: HttpRequest) -> Authenticated:
        """Return the caller of a request. Raises `CallerDeniedError`."""
        is_guarded = SIGNATURE_HEADER in sent.headers
        organization, caller = await (self._authenticate_driver if is_guarded else self._authenticate_client)(sent)
        return Authenticated(caller, guarded=is_guarded, lake=await self._lakes.reach(organization))

    async def _authenticate_driver(self, sent: HttpRequest) -> ResolvedCaller:
        signed = (sent.method, sent.target, sent.headers, sent.body)
        if len(sent.body) > _VERIFIED_AT_ONCE:
            spoken = await run_in_threadpool(self._sparks.authenticate_driver_request, *signed)
        else:
            spoken = self._sparks.authenticate_driver_request(*signed)
        if spoken is None:
            raise CallerDeniedError(UNAUTHENTICATED, None)
        organization = spoken.spark.organization
        if sent.organization and self._find(sent.organization) is not organization:
            raise CallerDeniedError(UNAUTHENTICATED, None)
        return ResolvedCaller(organization, spoken.caller)

    async def _authenticate_client(self, sent: HttpRequest) -> ResolvedCaller:
        resolved = await self._resolve_bearer(sent)
        if resolved.caller.run is not None:
            # The identity of a run is for statements that the guard has checked: it is accepted from a driver only.
            raise CallerDeniedError(UNAUTHENTICATED, resolved.organization)
        return resolved

    async def _resolve_bearer(self, sent: HttpRequest) -> ResolvedCaller:
        header = sent.headers.get("authorization", "")
        if not header.startswith(_BEARER):
            raise CallerDeniedError(UNAUTHENTICATED, None)
        secret = header.removeprefix(_BEARER)
        try:
            cached = self._callers.resolve_cached(secret, sent.organization)
            return cached or await run_in_threadpool(self._callers.resolve, secret, sent.organization)
        except UnknownCallerError as error:
            raise CallerDeniedError(SUSPENDED if error.is_suspended else UNAUTHENTICATED, error.addressed) from None

    def _find(self, name: str) -> Organization | None:
        try:
            return self._callers.organizations.find(name)
        except NotFoundError:
            return None
