"""JSON documents: parsing keeps their values, and their depth and number of values are limited."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.untrusted_input import json_documents
from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError
from headgate.untrusted_input.json_documents import MAX_DEPTH, MAX_VALUES, read_json, rewrite_json

texts = st.text(st.characters(codec="utf-8"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(texts, parts, max_size=4),
)


@given(value=values)
def test_a_document_keeps_its_values(value: Any) -> None:
    assert json.loads(rewrite_json(json.dumps(value).encode())) == value


def test_reading_a_document_enforces_the_bounds_of_rewriting() -> None:
    assert read_json(b'{"a": [1, null]}') == {"a": [1, None]}
    with pytest.raises(UnreadableInputError):
        read_json(b'{"a": 1, "a": 2}')
    with pytest.raises(OversizedInputError):
        read_json(b"[" * 1_000_000)


@given(data=st.binary(max_size=60))
def test_any_bytes_are_refused_or_rewritten(data: bytes) -> None:
    with suppress(UnreadableInputError):
        json.loads(rewrite_json(data))


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"\xff",
        b'"\\ud800"',
        b'{"a": 1, "a": 2}',
        b"NaN",
        b"[Infinity]",
        b"1e999",
        b"9" * 5_000,
        b"{} {}",
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
    ],
)
def test_a_document_that_parsers_would_read_differently_is_refused(document: bytes) -> None:
    with pytest.raises(UnreadableInputError, match="not valid JSON"):
        rewrite_json(document)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5_000, 900_000])
def test_a_document_that_is_too_deep_is_refused(depth: int) -> None:
    for opened, closed in ((b"[", b"]"), (b'{"a":', b"}")):
        with pytest.raises(OversizedInputError, match="levels deep"):
            rewrite_json(opened * depth + b"1" + closed * depth)


def test_a_document_of_the_greatest_depth_is_rewritten() -> None:
    assert rewrite_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


def test_a_document_of_too_many_values_is_refused() -> None:
    with pytest.raises(OversizedInputError, match=f"more than {MAX_VALUES:,} values"):
        rewrite_json(b"[" + b"1," * MAX_VALUES + b"1]")


def test_the_values_of_every_level_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_documents, "MAX_VALUES", 4)

    assert rewrite_json(b"[[1], 2]")
    with pytest.raises(OversizedInputError):
        rewrite_json(b"[[1, 2], 3]")
