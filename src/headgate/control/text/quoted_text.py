"""Shortens the texts that a response quotes from a request, so that a refusal is not as long as the request."""

import re
from typing import Final

LONGEST: Final = 200
"""The maximum length of a quoted text, in characters."""
LONGEST_MESSAGE: Final = 2000
"""The maximum length of a whole message, in characters; libraries also quote without quotation marks."""
_ELLIPSIS: Final = "…"
_QUOTED: Final = re.compile(r"""`[^`]*+`|"[^"]*+"|(?<!\w)'[^']*+'""")
"""A quotation. An apostrophe in or after a word does not begin one. The quantifiers are possessive: no backtracking."""


def shorten_quotes(message: str) -> str:
    """Return a message with its quoted texts, and the whole, cut to their maximum length and marked with an ellipsis."""
    message = _QUOTED.sub(_shortened, message)
    return message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + _ELLIPSIS


def _shortened(quotation: re.Match[str]) -> str:
    mark, text = quotation[0][0], quotation[0][1:-1]
    return quotation[0] if len(text) <= LONGEST else f"{mark}{text[:LONGEST]}{_ELLIPSIS}{mark}"
