"""Identity of a call: its bearer token, and the identity that replaces the one that the client claims."""

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
    """The key of a Spark session: its user and its id. Two tokens or runs of one principal share no session."""

    user: str
    session_id: str

    @property
    def pool(self) -> str:
        """Return the name of the scheduler pool of the session. All runs of a principal share one: Spark never deletes a pool."""
        principal, _, through = self.user.partition(":")
        return f"{principal}:runs" if through.startswith(_RUN) else principal


def credential_of_call(metadata: Iterable[tuple[str, str | bytes]]) -> PresentedCredential:
    """Return the credential of a call. Raises `UnauthenticatedError` unless it has exactly one bearer token."""
    given = [(key.lower(), str(value)) for key, value in metadata]
    tokens = [value for key, value in given if key == "authorization"]
    named = [value for key, value in given if key == ORGANIZATION_HEADER]
    if not tokens:
        raise UnauthenticatedError("the token is missing; connect with `sc://localhost:<port>/;token=<token>`")
    if len(tokens) != 1 or not tokens[0].lower().startswith(_SCHEME):
        raise UnauthenticatedError(
            "the call has several `authorization` entries in its metadata, or one that is not a bearer token; connect with `sc://localhost:<port>/;token=<token>`"
        )
    if len(named) > 1:
        raise UnauthenticatedError(
            f"the metadata `{ORGANIZATION_HEADER}` is set more than once; set it once, to one organization"
        )
    return PresentedCredential(tokens[0][len(_SCHEME) :].strip(), *named)


def user_id(caller: Caller) -> str:
    """Return the user id for the driver: the principal, and the token or run that it acts through."""
    parts = [str(caller.principal), f"{_RUN}{caller.run}" if caller.run else f"token-{caller.token or 'none'}"]
    # Spark writes user and session ids into one job tag, with `_Session_` between them.
    if not all(_ID.fullmatch(part) for part in parts) or "_Session_" in "".join(parts):
        raise RequestRefusedError(
            "the id of your user, token or run has characters that Spark does not accept as a user id; report it to the operator"
        )
    return ":".join(parts)


def uuid_text(value: str, what: str) -> str:
    """Return the UUID if it is in canonical form: two spellings must not be two sessions. Raises `InvalidRequestError`."""
    try:
        text = str(uuid.UUID(value))
    except ValueError:
        text = ""
    if not text or text != value:
        raise InvalidRequestError(
            f"the {what} is not a UUID in lower case; send a UUID in lower case, or use a PySpark 4.1 client"
        )
    return text


def stamp(request: Any, caller: Caller) -> SessionKey:
    """Replace the user that the client claims by the authenticated caller, and return the key of the request's session."""
    user = user_id(caller)
    request.user_context.Clear()
    request.user_context.user_id = user
    request.user_context.user_name = str(caller.principal)
    request.session_id = uuid_text(request.session_id, "session id")
    if getattr(request, "operation_id", ""):
        request.operation_id = uuid_text(request.operation_id, "operation id")
    return SessionKey(user, request.session_id)
