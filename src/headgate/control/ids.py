"""Fresh ids. Commands take them as arguments, so that a command stays a pure function."""

import uuid


def new_id(prefix: str) -> str:
    """Return an opaque id that nothing has; the prefix tells a reader of the log what kind of thing it is."""
    return f"{prefix}_{uuid.uuid4().hex}"
