"""Whether a text that Spark cannot parse is several statements: only to say so, for Spark decides what one is."""

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
"""What is never closed goes on to the end: nothing is read twice."""


def has_several_statements(text: str) -> bool:
    """Say whether anything but blanks and comments follows a semicolon that is in no string, name or comment."""
    parts = _APART.sub(_plain, text).split(";")
    return sum(1 for part in parts if part.strip()) > 1


def _plain(found: re.Match[str]) -> str:
    """Return what keeps its meaning here: nothing of a comment, a word for a string, and the semicolon itself."""
    if found[0] == ";":
        return ";"
    return " " if found[0].startswith(("--", "/*")) else "word"
