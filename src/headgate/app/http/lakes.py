"""The lakes of a deployment: one for each organization, and which of them a catalog request is for."""

import threading
from collections.abc import Callable, Container
from functools import cache

from headgate.app.settings.settings import Settings
from headgate.control.authentication.authenticator import Authenticator
from headgate.control.kernel.audit_records import SUSPENDED, UNAUTHENTICATED
from headgate.control.kernel.errors import NotFoundError
from headgate.control.organizations.organization import Organization, Organizations
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
    """Return the warehouse of an organization; `former` are its databases, in whose folders it may have tables too."""
    if settings.bucket is not None:
        return ObjectWarehouse(settings.bucket, settings.s3.properties, organization, former)
    return FileWarehouse(settings.warehouse, organization, former)


@cache
def file_parsers() -> BlockingPool:
    """Return the parsers of this process for files that a client wrote. They end with the process."""
    return BlockingPool()


class Lakes:
    """Opens lakes when they are first asked for. Safe to use from several threads."""

    def __init__(
        self, warehouse: Callable[[ResourceId, FormerDatabases], Warehouse], clock: Callable[[], float]
    ) -> None:
        """`warehouse` returns that of an organization with these databases."""
        self._warehouse = warehouse
        self._clock = clock
        self._lock = threading.Lock()
        self._of: dict[ResourceId, Lake] = {}

    def of(self, organization: Organization) -> Lake:
        """Return the lake of an organization. What is staged in it is kept while the process lives."""
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


def build_request_authenticator(
    identity: Authenticator, organizations: Organizations, sparks: SparkRegistry, lakes: Lakes
) -> AuthenticateRequest:
    """Return the resolver of the caller of a catalog request: a driver for one of its sessions, or the holder of a token.

    A driver is in its own organization, the holder of a token in the one that `Organizations.addressed` tells.
    """

    def named(name: str) -> Organization | None:
        try:
            return organizations.find(name)
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
        presented = sent.headers.get("authorization", "")
        found = identity.authenticate(presented.removeprefix(_BEARER)) if presented.startswith(_BEARER) else None
        organization = organizations.resolve_addressed(found, sent.organization) if found else None
        caller = organization.caller(found) if found and organization else None
        if caller is None and found and organization and organization.is_suspended_for(found):
            raise CallerDeniedError(SUSPENDED, organization)
        if caller is None or organization is None or caller.run is not None:
            # A run's identity exists for statements that the guard has seen, and comes here through the driver only.
            raise CallerDeniedError(UNAUTHENTICATED, organization)
        return Authenticated(caller, guarded=False, lake=lakes.of(organization))

    return identify
