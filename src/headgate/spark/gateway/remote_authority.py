"""Client of the authority, which runs in another process on this machine: questions over HTTP."""

from http import HTTPStatus
from typing import Any, Final

from pydantic import TypeAdapter

from headgate.spark.authority import (
    ORGANIZATION_HEADER,
    AdmittedCaller,
    DriverEndpoint,
    OpenedSession,
    OperationReport,
    PresentedCredential,
    Revocations,
    Running,
)
from headgate.spark.authority_messages import Authenticate, Close, DecideMessage, MayAccessMessage, Open, message_path
from headgate.spark.gateway.errors import (
    ExhaustedError,
    InvalidRequestError,
    RequestRefusedError,
    UnavailableError,
    UnknownTokenError,
)
from headgate.spark.gateway.http_client import HttpClient, NoResponseError

_WITHIN: Final = 10.0
_REPORT_WITHIN: Final = 3.0
_NO_ANSWER: Final = "access cannot be decided right now, so it is refused; try again in a few seconds"
_SEVERAL: Final = (
    "you are in several organizations; connect with "
    f"`sc://localhost:<port>/;token=<token>;{ORGANIZATION_HEADER}=<organization>`"
)

_ADMISSION: Final = TypeAdapter(AdmittedCaller | None)
_OPENED: Final = TypeAdapter(OpenedSession)
_REFUSAL: Final = TypeAdapter(str | None)
_VERDICTS: Final = TypeAdapter(Revocations)
_ASKED: Final = {
    kind: TypeAdapter(kind) for kind in (Authenticate, Close, DecideMessage, MayAccessMessage, Open, OperationReport)
}


class RemoteAuthority:
    """Sends questions to the deciding process. Fails closed: any unclear response counts as no answer."""

    def __init__(self, url: str, key: str) -> None:
        """`url` is the address of that process, `key` the secret that authenticates the gateway."""
        self._wire = HttpClient(url, key)

    async def authenticate(self, credential: PresentedCredential) -> AdmittedCaller | None:
        """Return the caller of the credential and the driver to use; None for an unknown credential."""
        return _ADMISSION.validate_json(await self._ask(Authenticate(credential)))

    async def open(self, credential: PresentedCredential, session_id: str, driver: DriverEndpoint) -> OpenedSession:
        """Open a session on this start of the driver."""
        return _OPENED.validate_json(await self._ask(Open(credential, session_id, driver.name, driver.generation)))

    async def close(self, handle: str) -> None:
        """Invalidate a handle."""
        await self._ask(Close(handle))

    async def may_access(self, credential: PresentedCredential, action: str, path: str) -> bool:
        """Whether the caller of the credential may perform the action on the path."""
        return await self._ask(MayAccessMessage(credential, action, path)) == b"true"

    async def report(self, report: OperationReport) -> Revocations:
        """Report the running operations; return those that must be stopped."""
        return _VERDICTS.validate_json(await self._ask(report, _REPORT_WITHIN))

    async def refusal(self, running: Running) -> str | None:
        """Decide again on all privileges that an operation requires; return the refusal, or None."""
        return _REFUSAL.validate_json(await self._ask(DecideMessage(running)))

    def end(self) -> None:
        """Close the connections."""
        self._wire.close()

    async def _ask(self, asked: Any, within: float = _WITHIN) -> bytes:
        body = _ASKED[type(asked)].dump_json(asked)
        try:
            status, answer = await self._wire.post(message_path(type(asked)), body, within)
        except NoResponseError:
            raise UnavailableError(_NO_ANSWER) from None
        if status == HTTPStatus.UNAUTHORIZED:
            raise UnknownTokenError
        if status == HTTPStatus.BAD_REQUEST:
            raise InvalidRequestError(_SEVERAL)
        if status == HTTPStatus.CONFLICT:
            raise RequestRefusedError(answer.decode())
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise ExhaustedError(answer.decode())
        if status != HTTPStatus.OK:
            raise UnavailableError(_NO_ANSWER)
        return answer
