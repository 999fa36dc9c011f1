"""Types and metadata in texts that a client sends."""

import json
from typing import Any

import pytest

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.schemas import check_schema, check_schema_metadata


def schema(metadata: Any, kind: Any = "string") -> str:
    """Return a schema of one column."""
    return json.dumps(
        {"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": metadata}]}
    )


@pytest.mark.parametrize(
    "text", ["a INT, b STRING", "struct<a: int>", "", schema({}), schema({"comment": "x", "unit": "km"}), '"integer"']
)
def test_an_ordinary_schema_passes(text: str) -> None:
    check_schema(text)


def test_a_schema_of_more_than_200_levels_is_refused() -> None:
    check_schema("a " + "ARRAY<" * 100 + "INT" + ">" * 100 + ", b STRUCT<c: INT>" * 300)
    for text in ("a " + "ARRAY<" * 201 + "INT" + ">" * 201, "a INT " + "/* " * 201 + "*/ " * 201):
        with pytest.raises(RequestRefusedError, match="more than 200 levels deep"):
            check_schema(text)


@pytest.mark.parametrize(
    "metadata",
    [
        {"EXISTS_DEFAULT": "session_user()"},
        {"CURRENT_DEFAULT": "1"},
        {"note": {"EXISTS_DEFAULT": "1"}},
        {"note": [{"CURRENT_DEFAULT": "1"}]},
        {"identity.start": 1},
        {"generationExpression": "1"},
        {"__metadata_col": True},
        {"ümlaut": 1},
    ],
)
def test_metadata_with_a_default_or_an_unknown_key_is_refused(metadata: dict[str, Any]) -> None:
    inner = {"type": "array", "elementType": json.loads(schema(metadata)), "containsNull": True}
    for text in (schema(metadata), schema({}, json.loads(schema(metadata))), schema({}, inner)):
        with pytest.raises(RequestRefusedError):
            check_schema(text)
    with pytest.raises(RequestRefusedError):
        check_schema_metadata(json.dumps(metadata))


def test_a_repeated_key_does_not_hide_forbidden_metadata() -> None:
    with pytest.raises(RequestRefusedError):
        check_schema_metadata('{"note": {"EXISTS_DEFAULT": "1"}, "note": 1}')
    with pytest.raises(RequestRefusedError):
        check_schema('{"type": "struct", "fields": [{"name": "a", "type": "udt", "type": "string"}]}')


@pytest.mark.parametrize(
    "text", ['{"type": "struct"', "[" * 100_000, '{"type": "struct", "fields": []} more', '{"a": nan}']
)
def test_text_that_looks_like_json_and_is_not_is_refused(text: str) -> None:
    with pytest.raises(RequestRefusedError, match="neither DDL nor JSON"):
        check_schema(text)


def test_absent_or_ordinary_metadata_passes() -> None:
    check_schema_metadata("")
    check_schema_metadata("{}")
    check_schema_metadata(json.dumps({"max": 99, "comment": "the longest", "parts": [1, 2]}))
