"""Registry of Spark by organization and cluster: sessions, running operations, and authentication of driver requests."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headgate.control.connections.commands import JdbcAccess
from headgate.control.kernel.ports import LogRefusedError
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.spark.sessions.driver_requests import DriverCalls
from headgate.spark.sessions.privileges import ExternalAccess, PrivilegeChecker, RequiredConnection
from headgate.spark.sessions.result_privileges import ResultPrivilegeRegistry
from headgate.spark.sessions.running_operations import RunningOperations
from headgate.spark.sessions.sessions import SparkSessions

Route = Callable[[str, JdbcAccess, Callable[[], bool]], JdbcAccess]
"""Returns the access of a cluster's driver to a database: direct, or through a relay, which checks that it is still allowed."""


def route_directly(_cluster: str, access: JdbcAccess, _is_allowed: Callable[[], bool]) -> JdbcAccess:
    """Return the access unchanged: the driver connects to the database directly."""
    return access


class OrganizationSpark:
    """One organization's Spark on one cluster, as known to this process. A handle is invalid for any other driver."""

    def __init__(
        self,
        organization: Organization,
        external_access: ExternalAccess,
        key: Callable[[], bytes],
        cluster: str = EMBEDDED,
        route: Route = route_directly,
    ) -> None:
        """`key` returns the key of the running driver, or an empty value."""
        self.organization = organization
        self.cluster = cluster
        self.external_access = external_access
        self.sessions = SparkSessions()
        self.calls = DriverCalls(key, self.sessions)
        self.judge = PrivilegeChecker(organization, external_access)
        self.works = RunningOperations(self.sessions, self.judge)
        self._route = route

    def jdbc_access(self, caller: Caller, connection: str) -> JdbcAccess:
        """Return the driver's access to a database for a caller. Raises `JdbcAccessError`."""
        access = self.external_access.jdbc_access(caller, connection)
        return self._route(self.cluster, access, lambda: self._may_use(caller, connection))

    def _may_use(self, caller: Caller, connection: str) -> bool:
        need = RequiredConnection(action="connection.use", connection=connection)
        try:
            return self.judge.refusal(caller, [need]) is None
        except LogRefusedError:
            # The log is unreadable, so no decision is possible: refuse.
            return False

    def forget(self) -> None:
        """End all sessions and forget their operations, because the driver process has ended."""
        self.sessions.close_where(lambda _: True)
        self.works.clear()


@dataclass(frozen=True, slots=True)
class DriverRequest:
    """An authenticated request of a driver: its Spark, its session and its caller."""

    spark: OrganizationSpark
    handle: str
    caller: Caller


class SparkRegistry:
    """The Spark of each organization and cluster that was used in this process. Thread-safe."""

    def __init__(
        self,
        external_access_of: Callable[[Organization], ExternalAccess],
        key: Callable[[ResourceId, str], bytes] = lambda *_: b"",
        serves: Callable[[Organization], bool] = lambda _: True,
        route: Route = route_directly,
    ) -> None:
        """`key` returns the key of a running driver by organization and cluster; `serves` is whether an organization may have one."""
        self._external_access_of = external_access_of
        self._key = key
        self.serves = serves
        self._route = route
        self.result_privileges = ResultPrivilegeRegistry()
        """The operations whose rows this process stores."""
        self._lock = threading.Lock()
        self._sparks: dict[tuple[ResourceId, str], OrganizationSpark] = {}

    @property
    def all(self) -> tuple[OrganizationSpark, ...]:
        """All that were used."""
        return tuple(self._sparks.values())

    def of(self, organization: Organization, cluster: str = EMBEDDED) -> OrganizationSpark:
        """Return the Spark of an organization on a cluster; create it at the first use."""
        place = (organization.id, cluster)
        with self._lock:
            if place not in self._sparks:
                external_access = self._external_access_of(organization)
                self._sparks[place] = OrganizationSpark(
                    organization, external_access, lambda: self._key(*place), cluster, self._route
                )
            return self._sparks[place]

    def caller(self, handle: str) -> Caller | None:
        """Return the caller of a handle, and record a use; None for an invalid handle."""
        return next((caller for spark in self.all if (caller := spark.sessions.caller(handle))), None)

    def authenticate_driver_request(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> DriverRequest | None:
        """Return the Spark, session and caller of a driver's signed request; None if its signature or session is invalid."""
        for spark in self.all:
            found = spark.calls.session(method, target, headers, body)
            if found is not None:
                return DriverRequest(spark, *found)
        return None
