"""The maximum number of entries in the lists of a definition."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from headgate.pipelines.definitions.definition import MAX_ENTRIES
from headgate.pipelines.kinds import Definition, parse_definition
from tests.pipelines.sources import source, stream

_QUERY = {"kind": "query", "name": "q", "into": "lake.raw.q", "sql": "SELECT 1"}
_HISTORY = {"kind": "history", "name": "h", "input": "lake.raw.a", "into": "lake.raw.h"}
_SERVICE = {"kind": "table_service", "name": "c", "table": "lake.raw.a", "service": "clustering"}
_DESTINATION = {"kind": "destination", "name": "d", "input": "lake.raw.a", "connection": "db"}


def columns(count: int) -> list[str]:
    """Return this number of column names."""
    return [f"c{number}" for number in range(count)]


LISTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "streams": lambda count: source(*map(stream, columns(count))),
    "streams of an integration": lambda count: source(*map(stream, columns(count)), kind="integration"),
    "key": lambda count: source(stream("a", key=columns(count))),
    "parameters": lambda count: source(stream("a", path="/a", parameters=dict.fromkeys(columns(count), "1"))),
    "inputs": lambda count: {**_QUERY, "inputs": [f"lake.raw.{each}" for each in columns(count)]},
    "keys of a query": lambda count: {**_QUERY, "inputs": ["lake.raw.a"], "mode": "merge", "keys": columns(count)},
    "keys of a history": lambda count: {**_HISTORY, "keys": columns(count)},
    "tracked": lambda count: {**_HISTORY, "keys": ["k"], "tracked": columns(count)},
    "keys of a destination": lambda count: {
        **_DESTINATION,
        "database": {"table": "public.a", "mode": "upsert", "keys": columns(count)},
    },
    "by": lambda count: {**_SERVICE, "by": columns(count)},
}


@pytest.mark.parametrize("document", LISTS.values(), ids=LISTS)
def test_a_list_with_more_entries_than_the_limit_is_refused(document: Callable[[int], dict[str, Any]]) -> None:
    assert parse_definition(document(MAX_ENTRIES)).name

    with pytest.raises(ValidationError, match=f"at most {MAX_ENTRIES}") as refused:
        parse_definition(document(MAX_ENTRIES + 1))
    assert {each["type"] for each in refused.value.errors()} == {"too_long"}


def test_every_list_of_a_definition_has_a_bound() -> None:
    schema = TypeAdapter[BaseModel](Definition).json_schema()
    fields = [
        (f"{name}.{field}", part)
        for name, each in schema["$defs"].items()
        for field, part in each.get("properties", {}).items()
    ]
    lists = [(name, part) for name, part in fields if part.get("type") == "array" or "additionalProperties" in part]

    assert len(lists) >= len(LISTS)
    assert [name for name, part in lists if part.keys().isdisjoint(("maxItems", "maxProperties"))] == []
