"""Spark as each organization has it on each cluster: its sessions, the work under way in them, and whom its driver speaks for."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headgate.control.connections.commands import JdbcAccess
from headgate.control.kernel.ports import LogRefusedError
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.clusters import EMBEDDED
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.spark.sessions.driver_requests import DriverCalls
from headgate.spark.sessions.privileges import ExternalAccess, PrivilegeChecker, RequiredConnection
from headgate.spark.sessions.result_privileges import ResultPrivilegeRegistry
from headgate.spark.sessions.running_operations import RunningOperations
from headgate.spark.sessions.sessions import SparkSessions

Route = Callable[[str, JdbcAccess, Callable[[], bool]], JdbcAccess]
"""Returns how the driver on a cluster enters a database: directly, or through a relay, which asks if that is still allowed."""


def route_directly(_cluster: str, access: JdbcAccess, _is_allowed: Callable[[], bool]) -> JdbcAccess:
    """Return how a driver enters a database that it connects itself."""
    return access


class OrganizationSpark:
    """What this process knows of one organization's Spark on one cluster. A handle of one means nothing to another's driver."""

    def __init__(
        self,
        organization: Organization,
        external_access: ExternalAccess,
        key: Callable[[], bytes],
        cluster: str = EMBEDDED,
        route: Route = route_directly,
    ) -> None:
        """`key` returns that of the driver as it runs now, or nothing."""
        self.organization = organization
        self.cluster = cluster
        self.external_access = external_access
        self.sessions = SparkSessions()
        self.calls = DriverCalls(key, self.sessions)
        self.judge = PrivilegeChecker(organization, external_access)
        self.works = RunningOperations(self.sessions, self.judge)
        self._route = route

    def jdbc_access(self, caller: Caller, connection: str) -> JdbcAccess:
        """Return how its driver enters a database for a caller. Raises `JdbcAccessError`."""
        access = self.external_access.jdbc_access(caller, connection)
        return self._route(self.cluster, access, lambda: self._may_use(caller, connection))

    def _may_use(self, caller: Caller, connection: str) -> bool:
        need = RequiredConnection(action="connection.use", connection=connection)
        try:
            return self.judge.refusal(caller, [need]) is None
        except LogRefusedError:
            # Nothing can be decided in this organization now.
            return False

    def forget(self) -> None:
        """End all sessions and forget their work: whatever they were in is gone."""
        self.sessions.close_where(lambda _: True)
        self.works.clear()


@dataclass(frozen=True, slots=True)
class DriverRequest:
    """A request of a driver: of whose Spark, in which session, for whom."""

    spark: OrganizationSpark
    handle: str
    caller: Caller


class SparkRegistry:
    """The Sparks of the organizations that have used one here. Safe to use from several threads."""

    def __init__(
        self,
        external_access_of: Callable[[Organization], ExternalAccess],
        key: Callable[[ResourceId, str], bytes] = lambda *_: b"",
        serves: Callable[[Organization], bool] = lambda _: True,
        route: Route = route_directly,
    ) -> None:
        """`key` is that of an organization's driver on a cluster as it runs now, and `serves` says which are to have one."""
        self._external_access_of = external_access_of
        self._key = key
        self.serves = serves
        self._route = route
        self.result_privileges = ResultPrivilegeRegistry()
        """The operations whose rows are kept by this process."""
        self._lock = threading.Lock()
        self._sparks: dict[tuple[ResourceId, str], OrganizationSpark] = {}

    @property
    def all(self) -> tuple[OrganizationSpark, ...]:
        """Every one that was used."""
        return tuple(self._sparks.values())

    def of(self, organization: Organization, cluster: str = EMBEDDED) -> OrganizationSpark:
        """Return that of an organization on a cluster."""
        place = (organization.id, cluster)
        with self._lock:
            if place not in self._sparks:
                external_access = self._external_access_of(organization)
                self._sparks[place] = OrganizationSpark(
                    organization, external_access, lambda: self._key(*place), cluster, self._route
                )
            return self._sparks[place]

    def caller(self, handle: str) -> Caller | None:
        """Return whom a handle stands for, and count that as a use; None if it stands for nobody."""
        return next((caller for spark in self.all if (caller := spark.sessions.caller(handle))), None)

    def authenticate_driver_request(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> DriverRequest | None:
        """Return what a driver's signed request is of, or None."""
        for spark in self.all:
            found = spark.calls.session(method, target, headers, body)
            if found is not None:
                return DriverRequest(spark, *found)
        return None
