"""The interface of the authority: it authenticates callers for the gateway, chooses their driver and decides on operations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from headgate.facts.caller import Caller

ORGANIZATION_HEADER: Final = "x-headgate-organization"
"""Header with the organization, required for members of several: `sc://localhost:<port>/;token=...;x-headgate-organization=...`."""
STREAM: Final = "stream:"
"""Prefix of the operation id of a streaming query, which continues after the call that started it. Alone, it means all of them."""


class UnknownCredentialError(Exception):
    """The presented credential is unknown or no longer valid."""


class StaleDriverError(Exception):
    """This start of the driver no longer serves."""


class DriverAccess(Protocol):
    """The driver process: its address, the secrets of its current start, and whether it serves."""

    @property
    def name(self) -> str:
        """Return the name of the driver, unique among the drivers."""
        ...

    @property
    def address(self) -> str:
        """Return host and port of the Spark Connect server."""
        ...

    @property
    def token(self) -> str:
        """Return the token that the server requires of every call."""
        ...

    @property
    def key(self) -> bytes:
        """Return the key of the signatures that the guard accepts."""
        ...

    @property
    def generation(self) -> int:
        """Return the number of the current start; the sessions of earlier starts are lost."""
        ...

    @property
    def ready(self) -> bool:
        """Whether the driver serves: it is running, and its guard has refused the probe statement."""
        ...

    @property
    def trouble(self) -> str:
        """Return why the last start failed; empty if it did not."""
        ...


@dataclass(frozen=True, slots=True)
class PresentedCredential:
    """A credential as presented: a token, and the organization of the call (if empty, that of the token)."""

    token: str = field(repr=False)
    organization: str = ""


@dataclass(frozen=True, slots=True)
class DriverEndpoint:
    """One start of one driver: its address, and the token that it requires of every call."""

    name: str
    generation: int
    address: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AdmittedCaller:
    """An authenticated caller, and the driver to use; None while it does not serve.

    `why_not` says why the caller gets no driver, `trouble` why the last start of the driver failed.
    """

    caller: Caller
    driver: DriverEndpoint | None
    why_not: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A new session's handle, and the signature that proves to the guard that the session belongs to the handle."""

    handle: str
    signature: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Running:
    """A running operation, and the credential that used its session last."""

    handle: str
    operation: str
    credential: PresentedCredential


@dataclass(frozen=True, slots=True)
class OperationReport:
    """The report that the gateway sends every few seconds.

    `used` are the handles used since the last report; `ended` are the refused operations and streams that were stopped.
    `figures` are counts by name and label since the start of the gateway. `late` is the number of seconds since the
    gateway last received a response and cancelled what was refused.
    """

    running: tuple[Running, ...] = ()
    used: tuple[str, ...] = ()
    ended: tuple[tuple[str, str], ...] = ()
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    late: float = 0.0


@dataclass(frozen=True, slots=True)
class Revocation:
    """An operation or stream that is no longer allowed; `message` tells its caller why."""

    handle: str
    operation: str
    message: str


@dataclass(frozen=True, slots=True)
class Revocations:
    """The operations that must be cancelled, and those of the used handles that are no longer valid."""

    refused: tuple[Revocation, ...] = ()
    gone: tuple[str, ...] = ()


class Authority(Protocol):
    """Decides for the gateway. Every method raises `UnavailableError` if no answer is available."""

    async def authenticate(self, credential: PresentedCredential) -> AdmittedCaller | None:
        """Return the caller of the credential, checked again at every call; None for an unknown credential."""
        ...

    async def open(self, credential: PresentedCredential, session_id: str, driver: DriverEndpoint) -> OpenedSession:
        """Open a session on this start of the driver. Raises `UnauthenticatedError`, `ExhaustedError`."""
        ...

    async def close(self, handle: str) -> None:
        """Invalidate a handle."""
        ...

    async def may_access(self, credential: PresentedCredential, action: str, path: str) -> bool:
        """Whether the caller of the credential may perform the action on the path."""
        ...

    async def report(self, report: OperationReport) -> Revocations:
        """Report the running operations; return those that must be cancelled."""
        ...

    async def refusal(self, running: Running) -> str | None:
        """Check again all privileges that an operation requires; return why its results are refused now, or None."""
        ...
