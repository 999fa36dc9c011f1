"""Whom the gateway asks: who is calling, which driver serves them, and what may go on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from headgate.facts.caller import Caller

ORGANIZATION_HEADER: Final = "x-headgate-organization"
"""Names the organization, for those who are in several: `sc://localhost:<port>/;token=...;x-headgate-organization=...`."""
STREAM: Final = "stream:"
"""How the operation of a streaming query begins: it goes on after the call that started it. Alone it stands for all."""


class UnknownCredentialError(Exception):
    """Nobody is known by what was presented."""


class StaleDriverError(Exception):
    """That start of the driver serves nobody any more."""


class DriverAccess(Protocol):
    """The driver process: where it listens, the secrets of its present start, and whether it serves."""

    @property
    def name(self) -> str:
        """Return what it is called among the drivers."""
        ...

    @property
    def address(self) -> str:
        """Return host and port of the Spark Connect server."""
        ...

    @property
    def token(self) -> str:
        """Return the token that the server asks of every call."""
        ...

    @property
    def key(self) -> bytes:
        """Return the key that signs what the guard believes."""
        ...

    @property
    def generation(self) -> int:
        """Return the number of the present start; sessions of an earlier one are gone."""
        ...

    @property
    def ready(self) -> bool:
        """Tell whether the driver serves, and refused its probe."""
        ...

    @property
    def trouble(self) -> str:
        """Return why it does not serve, if it has failed to."""
        ...


@dataclass(frozen=True, slots=True)
class PresentedCredential:
    """What a call presents: a token, and the organization that it is for where it names one (else that of the token)."""

    token: str = field(repr=False)
    organization: str = ""


@dataclass(frozen=True, slots=True)
class DriverEndpoint:
    """One start of one driver: where it listens, and the token that it asks of every call."""

    name: str
    generation: int
    address: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AdmittedCaller:
    """Who is calling, and the driver that serves them; None while it serves nobody.

    `why_not` says why there will be none, and `trouble` why the driver that there is has failed so far.
    """

    caller: Caller
    driver: DriverEndpoint | None
    why_not: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A new session's handle, and the value that makes the guard believe that the session is the handle's."""

    handle: str
    signature: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Running:
    """An operation under way, and what was last presented in its session."""

    handle: str
    operation: str
    credential: PresentedCredential


@dataclass(frozen=True, slots=True)
class OperationReport:
    """What the gateway tells every few seconds.

    `used` are the handles that were used since the last report, `ended` the streams that were stopped as they were
    refused; `figures` are counts by name and label, since the gateway began. `late` is how many seconds ago the gateway
    last heard an answer and ended what was refused.
    """

    running: tuple[Running, ...] = ()
    used: tuple[str, ...] = ()
    ended: tuple[tuple[str, str], ...] = ()
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    late: float = 0.0


@dataclass(frozen=True, slots=True)
class Revocation:
    """Work that is not allowed any more, and why, for who started it."""

    handle: str
    operation: str
    message: str


@dataclass(frozen=True, slots=True)
class Revocations:
    """What may not go on, and which of the handles that were used stand for nobody any more."""

    refused: tuple[Revocation, ...] = ()
    gone: tuple[str, ...] = ()


class Authority(Protocol):
    """Decides for the gateway. Every method raises `UnavailableError` if no answer can be had."""

    async def authenticate(self, credential: PresentedCredential) -> AdmittedCaller | None:
        """Return who is calling, asked anew at every call; None for nobody."""
        ...

    async def open(self, credential: PresentedCredential, session_id: str, driver: DriverEndpoint) -> OpenedSession:
        """Begin a session on that start of the driver. Raises `UnauthenticatedError`, `ExhaustedError`."""
        ...

    async def close(self, handle: str) -> None:
        """Make a handle stand for nobody."""
        ...

    async def may_access(self, credential: PresentedCredential, action: str, path: str) -> bool:
        """Tell whether who presents it may touch a file so."""
        ...

    async def report(self, report: OperationReport) -> Revocations:
        """Tell what is under way, and hear what may not go on."""
        ...

    async def refusal(self, running: Running) -> str | None:
        """Decide again on everything that an operation needs: return why its results are refused now, or None."""
        ...
