"""New ids. Commands take them as arguments, so that a command stays a pure function."""

import re
import uuid

_ID = re.compile(r"[a-z]+_[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def new_id(prefix: str) -> str:
    """Return a new opaque id (a UUID); the prefix shows a reader of the log which kind of object has it."""
    return f"{prefix}_{uuid.uuid4().hex}"


def is_like_id(text: str) -> bool:
    """Return whether a text has the form of an id of `new_id` or of a table (a UUID), in upper or lower case."""
    return _ID.fullmatch(text) is not None


def describe_id_fault(name: str) -> str | None:
    """Return why a text with the form of an id cannot be a name, or None if it has another form."""
    if is_like_id(name):
        return "it has the form of an id and could be confused with the object that has that id; choose another name"
    return None
