"""The authority in the deciding process: answers the gateway's questions."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from headgate.control.kernel.errors import SuspendedError
from headgate.control.kernel.ports import LogRefusedError
from headgate.control.organizations.organization import SeveralOrganizationsError
from headgate.facts.caller import Caller
from headgate.spark.abandoned_sessions import AbandonedSessions
from headgate.spark.authority import (
    AdmittedCaller,
    DriverAccess,
    DriverEndpoint,
    OpenedSession,
    OperationReport,
    PresentedCredential,
    Revocation,
    Revocations,
    Running,
    StaleDriverError,
    UnknownCredentialError,
)
from headgate.spark.gateway.call_identity import SessionKey, user_id
from headgate.spark.sessions.privileges import ExternalAccess
from headgate.spark.sessions.running_operations import SESSION_ENDED, RunningOperations
from headgate.spark.sessions.sessions import SparkSessions
from headgate.spark.sessions.signature import sign_session

_NO_TOKEN: Final = (
    "the token or login that started the operation is no longer valid; connect with a valid token, or log in again"  # noqa: S105 (a sentence)
)


class Spark(Protocol):
    """An organization's Spark on one cluster: the parts that the gateway uses."""

    @property
    def sessions(self) -> SparkSessions:
        """The open sessions."""
        ...

    @property
    def works(self) -> RunningOperations:
        """The running operations in the sessions."""
        ...

    @property
    def external_access(self) -> ExternalAccess:
        """The check of access to files and connections outside the lake."""
        ...


@dataclass(frozen=True, slots=True)
class ResolvedCredential:
    """The caller of a credential, its Spark, and the driver; `why_not` says why the caller gets no driver."""

    caller: Caller
    spark: Spark
    driver: DriverAccess | None
    why_not: str = ""


class DecidingAuthority:
    """Answers from the current facts. `known` looks a credential up at every call, and may wait for the store.

    Methods raise `SeveralOrganizationsError` for a login with several organizations that names none, and `SuspendedError`
    for a member of a suspended organization.
    """

    def __init__(
        self,
        known: Callable[[PresentedCredential], ResolvedCredential | None],
        sparks: Callable[[], Iterable[Spark]],
        abandoned: AbandonedSessions,
    ) -> None:
        self._known = known
        self._abandoned = abandoned
        self._sparks = sparks
        self.figures: Mapping[str, Mapping[str, float]] = {}
        """The gateway's counts in its last report."""
        self.enforced_at = 0.0
        """The monotonic time at which the gateway, by its own report, last received a response and cancelled what was refused.

        A response that fails, or arrives too late for the gateway, cancels nothing.
        """

    def authenticate(self, credential: PresentedCredential) -> AdmittedCaller | None:
        """Return the caller of the credential and the driver to use; None for an unknown credential."""
        known = self._known(credential)
        return self.admission(known) if known else None

    def admission(self, known: ResolvedCredential) -> AdmittedCaller:
        """Return the answer about a resolved credential."""
        trouble = known.driver.trouble if known.driver else ""
        return AdmittedCaller(known.caller, endpoint_of(known.driver), known.why_not, trouble)

    def open(self, credential: PresentedCredential, session_id: str, name: str, generation: int) -> OpenedSession:
        """Open a session on this start of this driver.

        Raises `UnknownCredentialError`, `StaleDriverError`, `TooManySessionsError`.
        """
        known = self._caller(credential)
        driver = known.driver
        if driver is None or not driver.ready or (driver.name, driver.generation) != (name, generation):
            raise StaleDriverError
        self._abandoned.reopen(name, SessionKey(user_id(known.caller), session_id))
        handle = known.spark.sessions.open(known.caller, session_id)
        return OpenedSession(handle, sign_session(driver.key, handle))

    def close(self, handle: str) -> None:
        """Invalidate a handle."""
        for spark in self._sparks():
            spark.sessions.close(handle)

    def may_access(self, credential: PresentedCredential, action: str, path: str) -> bool:
        """Whether the caller of the credential may perform the action on the path. Raises `UnknownCredentialError`."""
        known = self._caller(credential)
        return known.spark.external_access.may_access(known.caller, action, path)

    def report(self, report: OperationReport) -> Revocations:
        """Record the report of running operations; return those that must be cancelled."""
        self.figures = report.figures
        self.enforced_at = time.monotonic() - report.late
        for handle, operation in report.ended:
            for spark in self._sparks():
                spark.works.finished(handle, operation)
        # The refusals by decision come last and replace the others, because their message says more.
        refused = {(each.handle, each.operation): each for each in (*self._dead(report), *self._find_refused(report))}
        return Revocations(tuple(refused.values()), tuple(self._find_gone(report.used)))

    def refusal(self, running: Running) -> str | None:
        """Check again all privileges that an operation requires; return why its results are refused now, or None."""
        dead = next(self._dead(OperationReport((running,))), None)
        if dead is not None:
            return dead.message
        owner = next((spark for spark in self._sparks() if spark.sessions.is_open(running.handle)), None)
        return owner.works.refusal(running.handle, running.operation) if owner else SESSION_ENDED

    def _find_refused(self, report: OperationReport) -> Iterator[Revocation]:
        running = [(each.handle, each.operation) for each in report.running]
        for spark in self._sparks():
            yield from spark.works.revoked([each for each in running if spark.sessions.is_open(each[0])])

    def _dead(self, report: OperationReport) -> Iterator[Revocation]:
        """Yield the operations whose session has ended or whose token is no longer valid."""
        presenters = dict[PresentedCredential, tuple[Caller, Spark] | None]()
        for each in report.running:
            owner = self._owner(each)
            if each.credential not in presenters:
                presenters[each.credential] = self._presenter(each.credential)
            if owner is None:
                yield Revocation(each.handle, each.operation, SESSION_ENDED)
            elif presenters[each.credential] != owner:
                yield Revocation(each.handle, each.operation, _NO_TOKEN)

    def _presenter(self, credential: PresentedCredential) -> tuple[Caller, Spark] | None:
        """Return the current caller of a credential and its Spark; None if it is invalid or ambiguous, or the log is unreadable."""
        try:
            known = self._known(credential)
        except (SeveralOrganizationsError, SuspendedError, LogRefusedError):
            return None
        return (known.caller, known.spark) if known else None

    def _owner(self, running: Running) -> tuple[Caller, Spark] | None:
        held = ((spark.sessions.peek(running.handle), spark) for spark in self._sparks())
        return next(((caller, spark) for caller, spark in held if caller), None)

    def _find_gone(self, used: Iterable[str]) -> Iterator[str]:
        for handle in used:
            if not any(spark.sessions.caller(handle) for spark in self._sparks()):
                yield handle

    def _caller(self, credential: PresentedCredential) -> ResolvedCredential:
        known = self._known(credential)
        if known is None:
            raise UnknownCredentialError
        return known


def endpoint_of(driver: DriverAccess | None) -> DriverEndpoint | None:
    """Return the endpoint of a driver; None while it does not serve."""
    if driver is None or not driver.ready:
        return None
    return DriverEndpoint(driver.name, driver.generation, driver.address, driver.token)
