"""The lakes of a deployment: one for each organization in one warehouse, and who asks the catalog for which."""

import threading
from collections.abc import Callable

from headgate.app.lakegate import LakeGate
from headgate.app.settings import Settings
from headgate.control.audit import Audit
from headgate.control.command import MissingError
from headgate.control.identity import Identity
from headgate.control.organization import Organization, Organizations
from headgate.doors.iceberg_rest.ports import Identified, Identify, Lake, Sent
from headgate.facts.ids import ResourceId
from headgate.lake.catalog import TableCatalog
from headgate.lake.objects import ObjectWarehouse
from headgate.lake.view_catalog import ViewCatalog
from headgate.lake.warehouse import FileWarehouse, Warehouse
from headgate.spark.driver_calls import SIGNATURE_HEADER
from headgate.spark.sparks import Sparks

_BEARER = "Bearer "


def warehouse_of(settings: Settings) -> Warehouse:
    """Return the one warehouse of a deployment."""
    if settings.bucket is not None:
        return ObjectWarehouse(settings.bucket, settings.s3.properties)
    return FileWarehouse(settings.warehouse)


class Lakes:
    """Opens lakes when they are first asked for. Safe to use from several threads."""

    def __init__(self, warehouse: Warehouse, clock: Callable[[], float], audit: Audit) -> None:
        self._warehouse = warehouse
        self._audit = audit
        self._clock = clock
        self._lock = threading.Lock()
        self._of: dict[ResourceId, Lake] = {}

    def of(self, organization: Organization) -> Lake:
        """Return the lake of an organization. What is staged in it is kept while the process lives."""
        with self._lock:
            if organization.id not in self._of:
                self._of[organization.id] = self._opened(organization)
            return self._of[organization.id]

    def _opened(self, organization: Organization) -> Lake:
        store = organization.store
        views = ViewCatalog(store, self._warehouse, self._clock)
        return Lake(LakeGate(organization, self._audit), TableCatalog(store, self._warehouse), views)


def identifier(
    identity: Identity, organizations: Organizations, home: Organization, sparks: Sparks, lakes: Lakes
) -> Identify:
    """Return who sends a catalog request: a driver for one of its sessions, or the holder of a token.

    A driver is in its own organization. A token's holder is in the one that the address names, or else at home.
    """

    def named(name: str) -> Organization | None:
        try:
            return organizations.find(name)
        except MissingError:
            return None

    def driven(sent: Sent) -> Identified | None:
        spoken = sparks.spoken(sent.method, sent.target, sent.headers, sent.body)
        if spoken is None or (sent.organization and named(sent.organization) is not spoken.spark.organization):
            return None
        return Identified(spoken.caller, guarded=True, lake=lakes.of(spoken.spark.organization))

    def identify(sent: Sent) -> Identified | None:
        if SIGNATURE_HEADER in sent.headers:
            return driven(sent)
        presented = sent.headers.get("authorization", "")
        found = identity.authenticate(presented.removeprefix(_BEARER)) if presented.startswith(_BEARER) else None
        organization = home if sent.organization is None else named(sent.organization)
        caller = organization.caller(found) if found and organization else None
        if caller is None or organization is None or caller.run is not None:
            # A run's identity exists for statements that the guard has seen, and comes here through the driver only.
            return None
        return Identified(caller, guarded=False, lake=lakes.of(organization))

    return identify
