"""Text of errors that Spark or the machine wrote, as callers may read it.

What a statement did wrong is for its author; where it went wrong on the machine is for the operator. Every package that
puts such a text into an answer, a log of a run or a row takes it from here.
"""

import re
from typing import Any, Final

REFUSED_STATE: Final = "42501"
"""The SQLSTATE of a refusal, also in the answers of the gateway and of SQL over HTTP."""
_OF_USERS: Final = frozenset(("07", "0A", "21", "22", "23", "2B", "3F", "42", "46", "51", "54", "57", "P0"))
"""The SQLSTATE classes of errors about the statement itself: syntax, names, types, values, features and limits.

Their text quotes what the caller wrote. The text of any other class is about files, state stores, connections, tasks and
the like (KD, 58, HV, 38, 56, XX, ...) and names places of the machine; so may a class that a new Spark adds.
"""
_OF_PLACES: Final = frozenset(("42710", "42809", "42902", "42K03", "42K04", "42K05", "42K06", "42K0G", "54006"))
"""States within those classes whose conditions name files and folders that Spark chose."""
_PART: Final = r"[^\s'\"`,;)\]]"
_REST: Final = rf"(?:(?: {_PART}+){{0,3}}? {_PART}*/{_PART}*)*"
"""What follows a space within a path: a few words, the last of which has a slash."""
_HEX: Final = "[0-9A-Fa-f]{1,4}"
_DOMAINS: Final = "internal|intern|local|localdomain|lan|corp|home|svc|test|com|net|org|io|dev|cloud"
# Each begins where a word does, so that a long word is read once and not from each of its characters.
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
    """Return whether an error is about more than what the caller wrote, by its SQLSTATE; without one it is."""
    return not sqlstate or sqlstate[:2] not in _OF_USERS or sqlstate in _OF_PLACES


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
