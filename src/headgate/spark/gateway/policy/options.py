"""The options that users may give to reads and writes: the guard's own lists, read from where the guard has them."""

from pathlib import Path
from typing import Final

from headgate.control.catalog import table_properties

_LISTS: Final = Path(__file__).parents[2] / "guard" / "resources" / "headgate"


def _read_list(name: str) -> frozenset[str]:
    """Return the first word of each line of a list; what follows is the range of a number, and what follows `#` says why."""
    lines = (_LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(entry.split()[0] for line in lines if (entry := line.partition("#")[0].strip()))


TABLE_READ: Final = _read_list("read-options")
FILE_READ: Final = _read_list("file-options") - {"path"}
"""The paths of a read are looked at one by one, so none comes as an option."""
FILE_STREAM: Final = FILE_READ | _read_list("stream-options")
"""And those of a stream of files."""
FILE_FORMATS: Final = _read_list("file-formats")
FILE_WRITE: Final = _read_list("file-write-options") - {"path"}
DATABASE_READ: Final = _read_list("database-options")
DATABASE_WRITE: Final = _read_list("database-write-options")
TABLE_WRITE: Final = _read_list("write-options")
TABLE_PROPERTY_OPTIONS: Final = table_properties.TABLE_PROPERTIES
METADATA_KEYS: Final = _read_list("metadata-keys")
"""Keys of a column's metadata that Spark reads and a client may write."""
RATE_READ: Final = _read_list("rate-options")
"""The source of a stream that reads nothing and counts."""
