"""Depth and width of JSON, counted without parsing, equal those of the parsed value."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.untrusted_input import json_shape
from headgate.untrusted_input.json_shape import too_deep, too_wide


def nested(value: Any) -> int:
    if isinstance(value, list):
        return 1 + max(map(nested, value), default=0)
    if isinstance(value, dict):
        return 1 + max(map(nested, value.values()), default=0)
    return 0


JSON = st.recursive(
    st.none() | st.text(alphabet='[]{}"\\a') | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='[{"\\'), inner, max_size=4),
    max_leaves=30,
)


def members(value: Any) -> int:
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return len(parts) + sum(map(members, parts))


SLOW = [
    b'"\\"' * 300_000, b'"' + b'\\"' * 500_000, b'[{"' * 300_000, b"\\" * 900_000,
    b"[" * (1 << 20), b"[" * (1 << 19) + b"]" * (1 << 19), b"[[]" * (1 << 19),
]  # fmt: skip
"""Inputs that are slow for an algorithm that rescans strings from each quote, or pairs brackets per level."""


class TestDepth:
    @given(JSON, st.integers(min_value=0, max_value=6))
    def test_the_depth_is_that_of_the_parsed_value(self, value: Any, depth: int) -> None:
        assert too_deep(json.dumps(value).encode(), depth) == (nested(value) > depth)

    @given(st.binary())
    def test_the_depth_check_of_any_bytes_raises_no_error(self, body: bytes) -> None:
        too_deep(body, 3)

    @pytest.mark.parametrize("body", SLOW)
    def test_the_depth_of_hostile_text_is_found(self, body: bytes) -> None:
        assert too_deep(b"[" * 400 + body, 100)

    def test_the_depth_ignores_brackets_in_a_long_string(self) -> None:
        text = b'[["\\n' + b"[" * (3 << 20) + b'"], "", ["a"]]'

        assert not too_deep(text, 2)
        assert too_deep(text, 1)


class TestWidth:
    @given(JSON, st.integers(min_value=0, max_value=12), st.sampled_from((None, 2)))
    def test_the_width_is_that_of_the_parsed_value(self, value: Any, width: int, indent: int | None) -> None:
        assert too_wide(json.dumps(value, indent=indent).encode(), width) == (members(value) > width)

    @given(JSON, st.integers(min_value=1, max_value=9))
    def test_the_size_of_the_parts_changes_no_count(self, value: Any, part: int) -> None:
        text = json.dumps(value).encode()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json_shape, "_PART", part)

            for bound in range(12):
                assert too_wide(text, bound) == (members(value) > bound)
                assert too_deep(text, bound) == (nested(value) > bound)

    @given(st.binary())
    def test_the_width_check_of_any_bytes_raises_no_error(self, body: bytes) -> None:
        too_wide(body, 3)

    @pytest.mark.parametrize("body", SLOW)
    def test_the_width_of_hostile_text_is_found(self, body: bytes) -> None:
        assert too_wide(b"," * 400 + body, 100)

    @pytest.mark.parametrize("member", [b"[],", b"{},", b'"",', b'"\\n",', b"1,"])
    def test_counting_takes_little_more_memory_than_the_text(self, member: bytes) -> None:
        text = b"[" + member * 3_000_000 + b"1]"
        tracemalloc.start()
        try:
            assert too_wide(text, 1_000_000)
            assert not too_deep(text, 100)
            assert tracemalloc.get_traced_memory()[1] < 3 * len(text) + (16 << 20)
        finally:
            tracemalloc.stop()
