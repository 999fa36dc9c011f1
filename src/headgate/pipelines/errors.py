"""What ended an attempt, in words for people, and what follows from it."""

import re
from dataclasses import dataclass
from typing import Any, Final

REFUSED: Final = "42501"
"""The SQLSTATE of a refusal, by whoever refuses."""

_AWAY = frozenset({"UNAVAILABLE", "UNAUTHENTICATED"})
"""gRPC's codes for nobody who answers, and for a server that does not know the run any more, or not yet."""
_UNDECIDED: Final = "access cannot be decided right now"
"""What the guard says where nobody decides: a refusal that is none of this run's."""
_SIGNS: Final = tuple(
    map(
        re.compile,
        (
            # Conditions of Spark's where a driver has ended: its successor knows none of the sessions.
            r"INVALID_HANDLE\.(SESSION|OPERATION)_|SESSION_CLOSED|SESSION_CHANGED",
            # A driver that is about to end.
            r"SparkContext (was|is|has been) (shut ?down|stopped|being shut ?down)|stopped SparkContext",
            # Its client has tried again and again.
            r"\[RETRIES_EXCEEDED\]",
            _UNDECIDED,
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed. Refused: by a decision, so that another attempt is no use. Away: Spark was, whatever ran."""

    words: str
    refused: bool = False
    away: bool = False


def failure(error: BaseException) -> Failure:
    """Return what an error means. PySpark's are known by what they say of themselves, so that it is not loaded here."""
    words = own_words(error)
    sqlstate, code = _said(error, "getSqlState"), _said(error, "getGrpcStatusCode")
    if sqlstate == REFUSED and _UNDECIDED not in words:
        return Failure(words, refused=True)
    away = getattr(code, "name", "") in _AWAY or isinstance(error, ConnectionError)
    return Failure(words, away=away or any(each.search(words) for each in _SIGNS))


def own_words(error: BaseException) -> str:
    """Return what an error says, without the trace of the JVM that Spark's client puts behind it."""
    return str(error).split("JVM stacktrace")[0].strip() or type(error).__name__


def _said(error: BaseException, asked: str) -> Any:
    ask = getattr(error, asked, None)
    return ask() if callable(ask) else None
