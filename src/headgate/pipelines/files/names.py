"""Names of files in a connection's folder: which of them Spark opens as what they say, and how any is shown."""

import re
import unicodedata
from typing import Final

from headgate.pipelines.load_errors import LoadError

_UNSHOWN: Final = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})
"""Unicode's categories of control characters, half characters, ones without a meaning and ends of lines."""
_SPECIAL: Final = re.compile(r"[*?\[\]{}\\:]|%[0-9A-Fa-f]{2}")
"""Patterns, escapes and schemes in a path of Spark's."""
_PACKED: Final = (".bz2", ".deflate", ".gz", ".lz4", ".passthrough", ".snappy", ".zst")
"""Endings by which Spark unpacks a file, to any size, in small letters."""


def format_file_name(name: str) -> str:
    """Return a name for a message: on one line, in characters that are ones."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def require_plain_name(name: str) -> None:
    """Raise `LoadError` for a name that Spark would not open as it is, or would unpack without a bound."""
    if _SPECIAL.search(name) or any(unicodedata.category(letter) in _UNSHOWN for letter in name):
        raise LoadError(
            f"the name of the file `{format_file_name(name)}` in the connection's folder has a control character, a character "
            r"that is not in UTF-8, one of `*?[]{}\:`, or `%` before two digits; rename the file"
        )
    if name.casefold().endswith(_PACKED):
        raise LoadError(
            f"`{name}` in the connection's folder is compressed, and compressed files are not read; "
            "put the unpacked file there, or a Parquet file, which is compressed within"
        )
