"""Classification of the errors that end an attempt: a message for users, and whether a retry can help."""

import re
from dataclasses import dataclass
from typing import Any, Final

from headgate.control.text.error_text import REFUSED_STATE, raw_words, sqlstate_of, visible_words
from headgate.pipelines.connections.egress import EgressError

_AWAY = frozenset({"UNAVAILABLE", "UNAUTHENTICATED"})
"""gRPC's codes for an unreachable server, and for a server that does not know the run any more, or not yet."""
_NO_DRIVER: Final = frozenset({"08001", "08006"})
"""SQLSTATEs of a driver that was not reached, or ended during a statement: the next attempt finds what was committed."""
_UNDECIDED: Final = "access cannot be decided right now"
"""A part of the guard's and gateway's message while the deciding process is unreachable."""
_LET_GO: Final = (
    "Spark session of the operation has ended",
    "token or login that started the operation is no longer valid",
)
"""Parts of the gateway's messages for a lost session, and for a run whose end the gateway has learned of."""
_SIGNS: Final = tuple(
    map(
        re.compile,
        (
            # Spark's error conditions after a driver was restarted: the new driver knows none of the sessions.
            r"INVALID_HANDLE\.(SESSION|OPERATION)_|SESSION_CLOSED|SESSION_CHANGED",
            # A driver that is shutting down.
            r"SparkContext (was|is|has been) (shut ?down|stopped|being shut ?down)|stopped SparkContext",
            # The Spark Connect client has used up its retries.
            r"\[RETRIES_EXCEEDED\]",
            _UNDECIDED,
            *_LET_GO,
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed. `refused`: access was denied, so that a retry is useless. `away`: Spark was not available."""

    words: str
    refused: bool = False
    away: bool = False


def describe_failure(error: BaseException) -> Failure:
    """Return the failure that an error means. PySpark's errors are recognized by their methods: PySpark is not imported."""
    words, said = visible_words(error), raw_words(error)
    sqlstate, code = sqlstate_of(error), _ask(error, "getGrpcStatusCode")
    away = getattr(code, "name", "") in _AWAY or sqlstate in _NO_DRIVER or isinstance(error, ConnectionError)
    if away or any(each.search(said) for each in _SIGNS):
        return Failure(words, away=True)
    return Failure(words, refused=sqlstate == REFUSED_STATE or isinstance(error, EgressError))


def _ask(error: BaseException, asked: str) -> Any:
    ask = getattr(error, asked, None)
    return ask() if callable(ask) else None
