"""The answers to the gateway's questions, from the process that decides."""

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

_NO_TOKEN: Final = "the token or login that this was started with has ended"  # noqa: S105 (a sentence)


class Spark(Protocol):
    """An organization's Spark, as far as the gateway is concerned."""

    @property
    def sessions(self) -> SparkSessions:
        """Its sessions."""
        ...

    @property
    def works(self) -> RunningOperations:
        """What runs in them."""
        ...

    @property
    def external_access(self) -> ExternalAccess:
        """Says which files may be touched, and how."""
        ...


@dataclass(frozen=True, slots=True)
class ResolvedCredential:
    """Who presents a credential, on which Spark, and the driver of that; `why_not` says why there will be none."""

    caller: Caller
    spark: Spark
    driver: DriverAccess | None
    why_not: str = ""


class DecidingAuthority:
    """Answers from the facts as they are. `known` looks a credential up anew each time, and may wait for the store.

    What is asked for a login that is in several organizations and names none raises `SeveralOrganizationsError`; for a member of a
    suspended organization, `SuspendedError`.
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
        """What the gateway counted, as it said last."""
        self.enforced_at = 0.0
        """When the gateway last heard an answer and ended what was refused, as it says, by the steady clock.

        An answer that fails, or that comes too late for the gateway, ends nothing.
        """

    def authenticate(self, credential: PresentedCredential) -> AdmittedCaller | None:
        """Return who is calling, and the driver that serves them."""
        known = self._known(credential)
        return self.admission(known) if known else None

    def admission(self, known: ResolvedCredential) -> AdmittedCaller:
        """Return what the gateway is told of who is known."""
        trouble = known.driver.trouble if known.driver else ""
        return AdmittedCaller(known.caller, endpoint_of(known.driver), known.why_not, trouble)

    def open(self, credential: PresentedCredential, session_id: str, name: str, generation: int) -> OpenedSession:
        """Begin a session on that start of that driver.

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
        """Make a handle stand for nobody."""
        for spark in self._sparks():
            spark.sessions.close(handle)

    def may_access(self, credential: PresentedCredential, action: str, path: str) -> bool:
        """Tell whether who presents it may touch a file so. Raises `UnknownCredentialError`."""
        known = self._caller(credential)
        return known.spark.external_access.may_access(known.caller, action, path)

    def report(self, report: OperationReport) -> Revocations:
        """Take note of what is under way, and return what may not go on."""
        self.figures = report.figures
        self.enforced_at = time.monotonic() - report.late
        for handle, operation in report.ended:
            for spark in self._sparks():
                spark.works.finished(handle, operation)
        # What a decision says comes last, for it says more.
        refused = {(each.handle, each.operation): each for each in (*self._dead(report), *self._find_refused(report))}
        return Revocations(tuple(refused.values()), tuple(self._find_gone(report.used)))

    def refusal(self, running: Running) -> str | None:
        """Decide again on everything that an operation needs: return why its results are refused now, or None."""
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
        """Yield what is run by a session that has ended, or on a token that has."""
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
        """Return the caller that presents a credential now, and on which Spark; None where that is not one, or not known."""
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
    """Return how the gateway reaches a driver, while that serves."""
    if driver is None or not driver.ready:
        return None
    return DriverEndpoint(driver.name, driver.generation, driver.address, driver.token)
