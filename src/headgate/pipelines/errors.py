"""What ended an attempt, in words for people, and what follows from it."""

import re
from dataclasses import dataclass
from typing import Any, Final

from headgate.control.text.error_text import REFUSED_STATE, raw_words, sqlstate_of, visible_words
from headgate.pipelines.connections.egress import EgressError

_AWAY = frozenset({"UNAVAILABLE", "UNAUTHENTICATED"})
"""gRPC's codes for nobody who answers, and for a server that does not know the run any more, or not yet."""
_NO_DRIVER: Final = frozenset({"08001", "08006"})
"""SQLSTATEs of a driver that was not reached, or ended while it ran a statement: the next attempt finds what was done."""
_UNDECIDED: Final = "access cannot be decided right now"
"""What the guard says where nobody decides."""
_LET_GO: Final = ("session that this was started in has ended", "token or login that this was started with has ended")
"""What the gateway says where it has lost a session, or has taken over a run's end."""
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
            *_LET_GO,
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed. Refused: by a decision, so that another attempt is no use. Away: Spark was, whatever ran."""

    words: str
    refused: bool = False
    away: bool = False


def describe_failure(error: BaseException) -> Failure:
    """Return what an error means. PySpark's are known by what they say of themselves, so that it is not loaded here."""
    words, said = visible_words(error), raw_words(error)
    sqlstate, code = sqlstate_of(error), _ask(error, "getGrpcStatusCode")
    away = getattr(code, "name", "") in _AWAY or sqlstate in _NO_DRIVER or isinstance(error, ConnectionError)
    if away or any(each.search(said) for each in _SIGNS):
        return Failure(words, away=True)
    return Failure(words, refused=sqlstate == REFUSED_STATE or isinstance(error, EgressError))


def _ask(error: BaseException, asked: str) -> Any:
    ask = getattr(error, asked, None)
    return ask() if callable(ask) else None
