"""Short definitions of sources for tests."""

from collections.abc import Mapping
from typing import Any


def source(*streams: Mapping[str, Any], name: str = "load", kind: str = "source") -> dict[str, Any]:
    """A source of the connection `files`."""
    return {"kind": kind, "name": name, "connection": "files", "streams": [dict(each) for each in streams]}


def stream(name: str, **more: Any) -> dict[str, Any]:
    """A stream with this name: from the file of the same name into the table of the same name."""
    place = {} if more.keys() & {"path", "table", "prefix"} else {"file": f"{name}.csv"}
    return {"name": name, "into": f"lake.raw.{name}", **place, **more}
