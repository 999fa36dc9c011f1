"""Depth and width of JSON, counted before parsing: a parsed document takes many times the bytes of its text."""

import re
from collections.abc import Iterator

_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_WHOLE = re.compile(rb'(?:[^"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
"""The longest prefix that ends outside a string."""
_NO_SIGNS = bytes(set(range(256)) - set(b'[]{}"'))
_SAME_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SPACE = b" \t\r\n"
_PART = 1 << 16
"""Bytes scanned at a time, to bound memory."""


def too_deep(text: bytes | bytearray, depth: int) -> bool:
    """Whether JSON nests deeper than `depth`. The result is arbitrary for invalid JSON, which is refused either way.

    The time is at most proportional to the text times `depth`, and very short for a text with few brackets.
    """
    if text.count(b"[") + text.count(b"{") <= depth:
        return False
    # Without escapes, remove all characters except brackets and quotes first: most strings are then empty.
    signs = text if b"\\" in text else text.translate(None, _NO_SIGNS).replace(b'""', b"")
    brackets = b"".join(part.translate(_SAME_BRACKETS, _NO_BRACKETS) for part in _without_strings(signs))
    if brackets.count(b"]") > brackets.count(b"["):
        return True
    for _ in range(depth):
        if b"[" * (depth + 1) in brackets:
            return True
        brackets = brackets.replace(b"[]", b"")
    # Truncated JSON leaves brackets open.
    return b"[]" in brackets or brackets.count(b"[") > depth


def too_wide(text: bytes | bytearray, members: int) -> bool:
    """Whether JSON has more than `members` members. The count is derived from commas and brackets."""
    if _count_members(text) <= members:
        return False
    signs = b"".join(part.translate(None, _SPACE) for part in _without_strings(text))
    return _count_members(signs) - signs.count(b"[]") - signs.count(b"{}") > members


def _count_members(signs: bytes | bytearray) -> int:
    """Return the number of members if no array or object is empty: each has one more than it has commas."""
    return signs.count(b",") + signs.count(b"[") + signs.count(b"{")


def _without_strings(text: bytes | bytearray) -> Iterator[bytes]:
    """Yield the text in parts, with every string replaced by `0`."""
    at = 0
    while at < len(text):
        whole = _WHOLE.match(text, at, at + _PART)
        end = whole.end() if whole else at
        yield _STRINGS.sub(b"0", text[at:end])
        cut = _STRINGS.match(text, end)
        at = cut.end() if cut else end
        yield b"0" if cut else b""
