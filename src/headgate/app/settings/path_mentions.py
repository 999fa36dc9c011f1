"""Finds the local paths that a text mentions, in any notation that Spark, Hadoop and libraries accept."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

_BREAKS = re.compile(r"""[\s,;:=#'"]+""")
"""Separators in lists of files, Java options and URLs."""
_OF_THIS_MACHINE = re.compile(r"^//(?:file|localhost)(?=/)")
"""The authorities of a URL whose path is on this machine."""
_SCHEME = re.compile(r"^(?:file|local):", re.IGNORECASE)
_ROOT = Path("/")


def find_mentioned_paths(text: str) -> Iterator[Path]:
    """Yield every absolute path in a text: the text itself, and each part of it. The root `/` alone is skipped: it names no file."""
    for part in (_SCHEME.sub("", text.strip()), *_BREAKS.split(text)):
        plain = _OF_THIS_MACHINE.sub("", part)
        # `//host` begins a URL's host; `///` is an absolute path.
        if plain.startswith("/") and not re.match(r"//[^/]", plain):
            yield from (path for each in (plain, unquote(plain)) if (path := Path(each)).resolve() != _ROOT)
