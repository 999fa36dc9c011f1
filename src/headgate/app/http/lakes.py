"""The lakes of a deployment, one for each organization, and the authentication of catalog requests."""

import threading
from collections.abc import Callable, Container
from functools import cache

from headgate.app.settings.settings import Settings
from headgate.control.authentication.caller_resolver import CallerResolver, ResolvedCaller, UnknownCallerError
from headgate.control.kernel.audit_records import SUSPENDED, UNAUTHENTICATED
from headgate.control.kernel.errors import NotFoundError
from headgate.control.organizations.organization import Organization
from headgate.endpoints.iceberg_rest.catalog_callers import (
    Authenticated,
    AuthenticateRequest,
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


def build_request_authenticator(callers: CallerResolver, sparks: SparkRegistry, lakes: Lakes) -> AuthenticateRequest:
    """Return the authenticator of catalog requests: of a driver, for one of its sessions, or of a client with a token.

    A driver acts in its own organization, a client with a token in the one that `Organizations.resolve_addressed` returns.
    """

    def named(name: str) -> Organization | None:
        try:
            return callers.organizations.find(name)
        except NotFoundError:
            return None

    def driven(sent: HttpRequest) -> Authenticated:
        spoken = sparks.authenticate_driver_request(sent.method, sent.target, sent.headers, sent.body)
        if spoken is None:
            raise CallerDeniedError(UNAUTHENTICATED, None)
        organization = spoken.spark.organization
        if sent.organization and named(sent.organization) is not organization:
            raise CallerDeniedError(UNAUTHENTICATED, None)
        return Authenticated(spoken.caller, guarded=True, lake=lakes.of(organization))

    def identify(sent: HttpRequest) -> Authenticated:
        if SIGNATURE_HEADER in sent.headers:
            return driven(sent)
        organization, caller = _resolve_bearer(callers, sent)
        if caller.run is not None:
            # The identity of a run is for statements that the guard has checked: it is accepted from a driver only.
            raise CallerDeniedError(UNAUTHENTICATED, organization)
        return Authenticated(caller, guarded=False, lake=lakes.of(organization))

    return identify


def _resolve_bearer(callers: CallerResolver, sent: HttpRequest) -> ResolvedCaller:
    """Return the caller of a request's bearer token. Raises `CallerDeniedError`."""
    secret = sent.headers.get("authorization", "")
    if not secret.startswith(_BEARER):
        raise CallerDeniedError(UNAUTHENTICATED, None)
    try:
        return callers.resolve(secret.removeprefix(_BEARER), sent.organization)
    except UnknownCallerError as error:
        raise CallerDeniedError(SUSPENDED if error.is_suspended else UNAUTHENTICATED, error.addressed) from None
