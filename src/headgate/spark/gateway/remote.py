"""The authority in another process of this machine, asked over HTTP."""

from typing import Any, Final

import httpx
from pydantic import TypeAdapter

from headgate.spark.gateway.asked import Authenticate, Close, MayRead, Open, path_of
from headgate.spark.gateway.authority import Admission, Credential, Endpoint, Opened, Report, Verdicts
from headgate.spark.gateway.errors import ExhaustedError, UnauthenticatedError, UnavailableError

_WITHIN: Final = 10.0
_REPORT_WITHIN: Final = 3.0
_CONNECTIONS: Final = 32
_NO_ANSWER: Final = "access cannot be decided right now, so it is refused; try again"
_TOKEN: Final = "the token is not valid; ask for a new one"  # noqa: S105 (a sentence)

_ADMISSION: Final = TypeAdapter(Admission | None)
_OPENED: Final = TypeAdapter(Opened)
_VERDICTS: Final = TypeAdapter(Verdicts)
_ASKED: Final = {kind: TypeAdapter(kind) for kind in (Authenticate, Close, MayRead, Open, Report)}


class RemoteAuthority:
    """Asks the process that decides. Whatever is not a clear answer is none."""

    def __init__(self, url: str, key: str) -> None:
        """`url` is where that process listens for the gateway, `key` what it knows the gateway by."""
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"authorization": f"Bearer {key}", "content-type": "application/json"},
            timeout=_WITHIN,
            limits=httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS),
            trust_env=False,
        )

    async def authenticate(self, credential: Credential) -> Admission | None:
        """Return who is calling; None for nobody."""
        return _ADMISSION.validate_json(await self._ask(Authenticate(credential)))

    async def open(self, credential: Credential, session_id: str, driver: Endpoint) -> Opened:
        """Begin a session on that start of the driver."""
        return _OPENED.validate_json(await self._ask(Open(credential, session_id, driver.name, driver.generation)))

    async def close(self, handle: str) -> None:
        """Make a handle stand for nobody."""
        await self._ask(Close(handle))

    async def may_read(self, credential: Credential, path: str) -> bool:
        """Tell whether who presents it may read a file."""
        return await self._ask(MayRead(credential, path)) == b"true"

    async def report(self, report: Report) -> Verdicts:
        """Tell what is under way, and hear what may not go on."""
        return _VERDICTS.validate_json(await self._ask(report, _REPORT_WITHIN))

    async def end(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _ask(self, asked: Any, within: float = _WITHIN) -> bytes:
        body = _ASKED[type(asked)].dump_json(asked)
        try:
            answer = await self._http.post(path_of(type(asked)), content=body, timeout=within)
        except httpx.HTTPError:
            raise UnavailableError(_NO_ANSWER) from None
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            raise UnauthenticatedError(_TOKEN)
        if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            raise ExhaustedError(answer.text)
        if answer.status_code != httpx.codes.OK:
            raise UnavailableError(_NO_ANSWER)
        return answer.content
