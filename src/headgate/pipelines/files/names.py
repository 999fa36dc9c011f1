"""Names of files in a connection's folder: which of them Spark opens literally, and how a name is shown in a message."""

import re
import unicodedata
from typing import Final

from headgate.pipelines.load_errors import LoadError

_UNSHOWN: Final = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})
"""Unicode's categories of control characters, surrogates, unassigned and private characters, and line separators."""
_SPECIAL: Final = re.compile(r"[*?\[\]{}\\:]|%[0-9A-Fa-f]{2}")
"""Glob patterns, escapes and URI schemes in a path of Spark."""
_PACKED: Final = (".bz2", ".deflate", ".gz", ".lz4", ".passthrough", ".snappy", ".zst")
"""The suffixes, in lower case, of files that Spark decompresses, to any size (decompression bombs)."""


def format_file_name(name: str) -> str:
    """Return a name for a message: on one line, in printable characters only."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def require_plain_name(name: str) -> None:
    """Raise `LoadError` for a name that Spark would not open literally, or a file that it would decompress without a limit."""
    if _SPECIAL.search(name) or any(unicodedata.category(letter) in _UNSHOWN for letter in name):
        raise LoadError(
            f"the name of the file `{format_file_name(name)}` in the connection's folder has a control character, a character "
            r"that is not in UTF-8, one of `*?[]{}\:`, or `%` before two digits; rename the file"
        )
    if name.casefold().endswith(_PACKED):
        raise LoadError(
            f"`{name}` in the connection's folder has the suffix of a compressed file, and compressed files are not read; "
            "replace it by the decompressed file, or by a Parquet file, which is compressed internally"
        )
