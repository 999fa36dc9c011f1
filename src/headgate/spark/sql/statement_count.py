"""Detects several statements in a text that Spark cannot parse. Only for the error message: Spark decides what a statement is."""

import re

_APART = re.compile(
    r"""
    '(?:[^'\\]++|\\.?+)*+'?+          # a string
    | "(?:[^"\\]++|\\.?+)*+"?+
    | `[^`]*+`?+                      # a name
    | --[^\n]*+                       # a comment
    | /\*.*?(?:\*/|\Z)
    | ;
    """,
    re.VERBOSE | re.DOTALL,
)
"""Matches strings, names, comments and semicolons. An unclosed one extends to the end, so that no text is scanned twice."""


def has_several_statements(text: str) -> bool:
    """Whether the text has several statements: non-empty parts separated by semicolons outside strings, names and comments."""
    parts = _APART.sub(_plain, text).split(";")
    return sum(1 for part in parts if part.strip()) > 1


def _plain(found: re.Match[str]) -> str:
    """Return a replacement with the same meaning for the count: a blank for a comment, a word for a string or name."""
    if found[0] == ";":
        return ";"
    return " " if found[0].startswith(("--", "/*")) else "word"
