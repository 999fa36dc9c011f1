"""Who is calling: the bearer token of a call, and the identity that the driver sees instead of the client's."""

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from headgate.facts.caller import Caller
from headgate.spark.authority import ORGANIZATION_HEADER, PresentedCredential
from headgate.spark.gateway.errors import InvalidRequestError, RequestRefusedError, UnauthenticatedError

_SCHEME: Final = "bearer "
_RUN: Final = "run-"
_ID: Final = re.compile(r"[A-Za-z0-9_.@-]+")


@dataclass(frozen=True, slots=True)
class SessionKey:
    """One Spark session: whose it is, and which. Two tokens or runs of one principal share none."""

    user: str
    session_id: str

    @property
    def pool(self) -> str:
        """Return whose share of the driver its work takes. Spark keeps pools for ever, so there is none for each run."""
        principal, _, through = self.user.partition(":")
        return f"{principal}:runs" if through.startswith(_RUN) else principal


def credential_of_call(metadata: Iterable[tuple[str, str | bytes]]) -> PresentedCredential:
    """Return what a call presents. Raises `UnauthenticatedError` unless there is exactly one token."""
    given = [(key.lower(), str(value)) for key, value in metadata]
    tokens = [value for key, value in given if key == "authorization"]
    named = [value for key, value in given if key == ORGANIZATION_HEADER]
    if len(tokens) != 1 or not tokens[0].lower().startswith(_SCHEME):
        raise UnauthenticatedError("a token is missing; connect with `sc://localhost:<port>/;token=<token>`")
    if len(named) > 1:
        raise UnauthenticatedError(f"`{ORGANIZATION_HEADER}` is there several times; one organization can be meant")
    return PresentedCredential(tokens[0][len(_SCHEME) :].strip(), *named)


def user_id(caller: Caller) -> str:
    """Return the user that the driver sees: the principal, and the token or run that it acts through."""
    parts = [str(caller.principal), f"{_RUN}{caller.run}" if caller.run else f"token-{caller.token or 'none'}"]
    # Spark writes user and session ids into one job tag, with `_Session_` between them.
    if not all(_ID.fullmatch(part) for part in parts) or "_Session_" in "".join(parts):
        raise RequestRefusedError("the id of this principal, token or run cannot be a user of Spark")
    return ":".join(parts)


def uuid_text(value: str, what: str) -> str:
    """Return the UUID if it is in its one usual spelling, so that two spellings are not two sessions. Raises `InvalidRequestError`."""
    try:
        text = str(uuid.UUID(value))
    except ValueError:
        text = ""
    if not text or text != value:
        raise InvalidRequestError(f"the {what} must be a UUID in lower case")
    return text


def stamp(request: Any, caller: Caller) -> SessionKey:
    """Put the caller in the place of whoever the client says it is, and return the session that the request is for."""
    user = user_id(caller)
    request.user_context.Clear()
    request.user_context.user_id = user
    request.user_context.user_name = str(caller.principal)
    request.session_id = uuid_text(request.session_id, "session id")
    if getattr(request, "operation_id", ""):
        request.operation_id = uuid_text(request.operation_id, "operation id")
    return SessionKey(user, request.session_id)
