"""Definitions of sources, as short as tests need them."""

from collections.abc import Mapping
from typing import Any


def source(*streams: Mapping[str, Any], name: str = "load", kind: str = "source") -> dict[str, Any]:
    """A source of the folder."""
    return {"kind": kind, "name": name, "connection": "files", "streams": [dict(each) for each in streams]}


def stream(name: str, **more: Any) -> dict[str, Any]:
    """A stream of the file that is called as it is, into the table that is too."""
    place = {} if more.keys() & {"path", "table", "prefix"} else {"file": f"{name}.csv"}
    return {"name": name, "into": f"lake.raw.{name}", **place, **more}
