"""Text of errors that Spark or the machine wrote, as callers may read it.

What a statement did wrong is for its author; where it went wrong on the machine is for the operator. Every package that
puts such a text into an answer, a log of a run or a row takes it from here.
"""

import re
from typing import Any, Final

REFUSED: Final = "42501"
"""The SQLSTATE of a refusal, also in the answers of the gateway and of SQL over HTTP."""
_INTERNAL_STATE: Final = "XX"
"""How the SQLSTATE of an internal error begins."""
_PLACES: Final = (
    (re.compile(r"\b[A-Za-z][\w+.-]*:/[^\s'\"`,;)\]]*"), "<path>"),
    (re.compile(r"(?<![\w./<])(?:/[\w.=@%+-]+){2,}/?"), "<path>"),
    (re.compile(r"\(\S+ executor \S+\)"), "(<host>)"),
    (re.compile(r"\b(?:\d{1,3}(?:\.\d{1,3}){3}|localhost)(?::\d+)?\b"), "<host>"),
)
_OWN: Final = "headgate."
_TRACE: Final = "JVM stacktrace"
"""What Spark's client puts before the trace of the JVM."""


def mask(text: str) -> str:
    """Return the first line without paths and hosts; what follows it are plans and stack traces."""
    return mask_places(text.partition("\n")[0])


def mask_places(text: str) -> str:
    """Return every line without paths and hosts."""
    for place, shown in _PLACES:
        text = place.sub(shown, text)
    return text


def is_internal(sqlstate: str | None) -> bool:
    """Return whether an error was not written for users: it has no SQLSTATE, or an internal one."""
    return not sqlstate or sqlstate.startswith(_INTERNAL_STATE)


def visible_words(error: BaseException) -> str:
    """Return what a caller may read of an error.

    Errors of Headgate's own and Spark's errors about a statement keep their words, without a stack trace. Any other
    error loses paths and hosts. PySpark is recognized by its method, so that it is not loaded here.
    """
    words = raw_words(error)
    is_written_for_users = type(error).__module__.startswith(_OWN) or not is_internal(sqlstate_of(error))
    return (words if is_written_for_users else mask(words)) or type(error).__name__


def raw_words(error: BaseException) -> str:
    """Return what an error says, without a stack trace: to look for a sign in it, not to show it."""
    return str(error).partition(_TRACE)[0].strip()


def sqlstate_of(error: BaseException) -> str | None:
    """Return the SQLSTATE that an error of Spark's has, or None."""
    ask: Any = getattr(error, "getSqlState", None)
    return str(state) if callable(ask) and (state := ask()) else None
