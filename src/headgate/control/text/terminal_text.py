"""Escapes control characters for terminals and logs: those that move a cursor, change a setting or reorder letters."""

from collections.abc import Callable, Iterable, Iterator

_KEPT = "\t\n"
_RANGES = (
    (
        0x00,
        0x1F,
    ),  # C0: the escape character begins every control sequence, including those that set the title or the clipboard
    (0x7F, 0x9F),  # delete, and C1: the same control sequences in one character
    (0x061C, 0x061C),
    (0x200E, 0x200F),
    (0x2028, 0x202E),  # line separators; embeddings and overrides of direction
    (0x2066, 0x2069),
    (0xD800, 0xDFFF),  # surrogates: a UTF-8 stream refuses them
)
"""C0, C1, and the bidirectional controls (`Bidi_Control` of Unicode 17.0)."""


def terminal_text(text: str) -> str:
    r"""Return text with control characters as `\x1b` or `\u202e`; line breaks and tabs stay."""
    return text if _is_plain(text) else text.translate(_SHOWN)


def terminal_line(text: str) -> str:
    """Return the same text on one line: line breaks and tabs are escaped too."""
    return text if _is_plain(text) else text.translate(_ON_ONE_LINE)


def terminal_json(json: str) -> str:
    """Return equivalent JSON without control characters; the line breaks of its layout stay."""
    return json if _is_plain(json) else json.translate(_IN_JSON)


def _is_plain(text: str) -> bool:
    # Nearly every line is plain, and translating a line takes ten times as long.
    return text.isascii() and text.isprintable()


def _codes() -> Iterator[int]:
    for first, last in _RANGES:
        yield from range(first, last + 1)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004 (the last code of two digits)


def _in_json(code: int) -> str:
    return f"\\u{code:04x}"


def _table(codes: Iterable[int], write: Callable[[int], str]) -> dict[int, str]:
    return {code: write(code) for code in codes}


_KEPT_CODES = frozenset(map(ord, _KEPT))
_ON_ONE_LINE = _table(_codes(), _escape)
_SHOWN = _table((code for code in _codes() if code not in _KEPT_CODES), _escape)
_IN_JSON = _table((code for code in _codes() if code not in _KEPT_CODES), _in_json)
