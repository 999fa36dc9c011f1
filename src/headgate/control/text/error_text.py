"""Redaction of error texts of Spark and the operating system, so that callers may read them.

The author of a statement may read what is wrong with it; only the operator may read where on the machine it failed. Every
package that puts such a text into a response, a run log or a row takes it from here.
"""

import re
from typing import Any, Final

REFUSED_STATE: Final = "42501"
"""The SQLSTATE of a refusal, also in the answers of the gateway and of SQL over HTTP."""
REFUSED_CONDITION: Final = "HEADGATE_ACCESS_DENIED"
"""The error condition of a refusal in Spark, whether the guard or the gateway refused."""
_OF_USERS: Final = frozenset(("07", "0A", "21", "22", "23", "2B", "3F", "42", "46", "51", "54", "57", "P0"))
"""The SQLSTATE classes of errors about the statement itself: syntax, names, types, values, features and limits.

Their text quotes what the caller wrote. The text of any other class is about files, state stores, connections, tasks and
the like (KD, 58, HV, 38, 56, XX, ...) and names paths and hosts of the machine; a class that a new Spark adds may too.
"""
_OF_PLACES: Final = frozenset(("42710", "42809", "42902", "42K03", "42K04", "42K05", "42K06", "42K0G", "54006"))
"""States within those classes whose conditions name files and folders that Spark chose."""
_PART: Final = r"[^\s'\"`,;)\]]"
_REST: Final = rf"(?:(?: {_PART}+){{0,3}}? {_PART}*/{_PART}*)*"
"""The rest of a path after a space in it: a few words, the last of which has a slash."""
_HEX: Final = "[0-9A-Fa-f]{1,4}"
_DOMAINS: Final = "internal|intern|local|localdomain|lan|corp|home|svc|test|com|net|org|io|dev|cloud"
# Each pattern begins at a word boundary, so that a long word is scanned once and not from each of its characters.
_PLACES: Final = (
    (re.compile(rf"(?<![\w+.-])[\w+.-]+:/{_PART}*{_REST}"), "<path>"),
    (re.compile(rf"(?<![\w./<])(?:/[\w.=@%+-]+)+/?{_REST}"), "<path>"),
    (re.compile(r"\([^\s()]++ executor [^\s()]++\)"), "(<host>)"),
    (re.compile(r"\b(?:\d{1,3}(?:\.\d{1,3}){3}|localhost)(?::\d+)?\b"), "<host>"),
    (re.compile(r"\[[0-9A-Fa-f]*(?::[0-9A-Fa-f]*){2,7}(?:%\w+)?\](?::\d+)?"), "<host>"),
    (re.compile(rf"(?<![\w:])(?:{_HEX}(?::{_HEX})*)?::{_HEX}(?::{_HEX})*(?:%\w+)?(?![\w:])"), "<host>"),
    (re.compile(r"(?<=UnknownHostException: )[\w.-]+"), "<host>"),
    (re.compile(r"(?<![\w.-])(?=[\w.-]*[A-Za-z])[\w.-]+:\d{2,5}\b(?!:)"), "<host>"),
    (re.compile(rf"(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.(?:{_DOMAINS})\b(?!\.?\w)"), "<host>"),
)
_OWN: Final = "headgate."
_TRACE: Final = "JVM stacktrace"
"""The text that Spark's client puts before the stack trace of the JVM."""


def mask(text: str) -> str:
    """Return the first line without paths and hosts; the other lines are plans and stack traces."""
    return mask_places(text.partition("\n")[0])


def mask_places(text: str) -> str:
    """Return every line without paths and hosts."""
    for place, shown in _PLACES:
        text = place.sub(shown, text)
    return text


def is_internal(sqlstate: str | None) -> bool:
    """Return whether an error is about more than the caller's statement, by its SQLSTATE; True without a SQLSTATE."""
    return not sqlstate or sqlstate[:2] not in _OF_USERS or sqlstate in _OF_PLACES


def visible_words(error: BaseException) -> str:
    """Return the text of an error that a caller may read.

    Headgate's own errors and Spark's errors about a statement keep their text, without a stack trace. Paths and hosts are
    removed from any other error. PySpark's errors are recognized by their method, so that PySpark is not imported here.
    """
    words = raw_words(error)
    is_written_for_users = type(error).__module__.startswith(_OWN) or not is_internal(sqlstate_of(error))
    return (words if is_written_for_users else mask(words)) or type(error).__name__


def raw_words(error: BaseException) -> str:
    """Return the text of an error without a stack trace: to search it, not to show it."""
    return str(error).partition(_TRACE)[0].strip()


def sqlstate_of(error: BaseException) -> str | None:
    """Return the SQLSTATE of a Spark error, or None."""
    ask: Any = getattr(error, "getSqlState", None)
    return str(state) if callable(ask) and (state := ask()) else None
