"""Fresh ids. Commands take them as arguments, so that a command stays a pure function."""

import re
import uuid

_ID = re.compile(r"[a-z]+_[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def new_id(prefix: str) -> str:
    """Return an opaque id that nothing has; the prefix tells a reader of the log what kind of thing it is."""
    return f"{prefix}_{uuid.uuid4().hex}"


def is_like_id(text: str) -> bool:
    """Return whether a text is written as the ids that `new_id` returns, or as those of tables (UUIDs), in any case."""
    return _ID.fullmatch(text) is not None


def describe_id_fault(name: str) -> str | None:
    """Return why a text that is written like an id cannot be a name, or None if it is not."""
    if is_like_id(name):
        return "it is written like an id and could be taken for what has that id; choose another name"
    return None
