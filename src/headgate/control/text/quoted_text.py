"""Texts that an answer quotes from a request: shortened, so that an answer is not as long as what it refuses."""

import re
from typing import Final

LONGEST: Final = 200
"""Characters of a quoted text."""
LONGEST_MESSAGE: Final = 2000
"""Characters of a whole message; libraries quote without quotation marks too."""
_ELLIPSIS: Final = "…"
_QUOTED: Final = re.compile(r"""`[^`]*+`|"[^"]*+"|(?<!\w)'[^']*+'""")
"""A quotation. An apostrophe within or after a word begins none. Possessive, so that each text is read once."""


def shorten_quotes(message: str) -> str:
    """Return a message with an ellipsis for what is too long in its quoted texts, and in the whole."""
    message = _QUOTED.sub(_shortened, message)
    return message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + _ELLIPSIS


def _shortened(quotation: re.Match[str]) -> str:
    mark, text = quotation[0][0], quotation[0][1:-1]
    return quotation[0] if len(text) <= LONGEST else f"{mark}{text[:LONGEST]}{_ELLIPSIS}{mark}"
