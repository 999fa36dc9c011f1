"""Who sends a request, and the names in its path."""

from dataclasses import dataclass
from urllib.parse import unquote_plus

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from headgate.control.names import usable
from headgate.doors.iceberg_rest.errors import SpecError, nothing_here
from headgate.doors.iceberg_rest.ports import Identified, Identify, Name
from headgate.facts.caller import Caller

LARGEST_BODY = 32 * 1024 * 1024
_LEVELS = "\x1f"
_NAMES = "/v1/namespaces/"


@dataclass(frozen=True, slots=True)
class Asking:
    """One request: who sent it, its body, and the parts of its path below `/v1/namespaces/`."""

    who: Identified
    body: bytes
    parts: tuple[str, ...]

    @property
    def caller(self) -> Caller:
        """Who is asking."""
        return self.who.caller

    def database(self, lake: str) -> Name | None:
        """Return the full name of the database in the path; None for one that cannot exist."""
        return full_name(lake, tuple(self.parts[0].split(_LEVELS)))

    def table(self, lake: str) -> Name | None:
        """Return the full name of the table in the path; None for one that cannot exist."""
        return full_name(lake, tuple(self.parts[0].split(_LEVELS)), *(self.parts[2:3] or ("",)))

    def shown(self) -> str:
        """Return the name in the path as the client wrote it."""
        names = (*self.parts[0].split(_LEVELS), *self.parts[2:3])
        return ".".join(names)


def full_name(lake: str, namespace: tuple[str, ...], *below: str) -> Name | None:
    """Return the full name, or None if nothing can have it: namespaces have one level."""
    if len(namespace) != 1 or not all(map(usable, (*namespace, *below))):
        return None
    return (lake, *namespace, *below)


async def identified(request: Request, identify: Identify) -> Asking:
    """Read and identify a request. Raises the specification's 401 for nobody, 413 for too much."""
    body = await _body(request)
    raw_path: bytes = request.scope["raw_path"]
    target = raw_path.decode("ascii", "replace")
    query: bytes = request.scope["query_string"]
    full = f"{target}?{query.decode('ascii', 'replace')}" if query else target
    headers = {key.lower(): value for key, value in request.headers.items()}
    who = await run_in_threadpool(identify, request.method, full, headers, body)
    if who is None:
        raise SpecError(401, "NotAuthorizedException", "a valid bearer token is needed")
    # From the path as sent: clients write a space as `+` and a plus as `%2B`, which the decoded path mixes up.
    parts = tuple(unquote_plus(part) for part in target.partition(_NAMES)[2].split("/"))
    if any("/" in part for part in parts):
        # The route was found by the decoded path, so it may not be the one of these parts.
        raise nothing_here()
    return Asking(who, body, parts)


async def _body(request: Request) -> bytes:
    chunks = bytearray()
    async for chunk in request.stream():
        chunks += chunk
        if len(chunks) > LARGEST_BODY:
            raise SpecError(413, "BadRequestException", "the request is too large")
    return bytes(chunks)
