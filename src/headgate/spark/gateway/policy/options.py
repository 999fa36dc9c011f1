"""Allow lists of read and write options, loaded from the resource files of the guard so that both use the same lists."""

from pathlib import Path
from typing import Final

from headgate.control.catalog import table_properties

_LISTS: Final = Path(__file__).parents[2] / "guard" / "resources" / "headgate"


def _read_list(name: str) -> frozenset[str]:
    """Return the first word of each line of a list. The rest of a line is a number range; text after `#` is a comment."""
    lines = (_LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(entry.split()[0] for line in lines if (entry := line.partition("#")[0].strip()))


TABLE_READ: Final = _read_list("read-options")
FILE_READ: Final = _read_list("file-options") - {"path"}
"""Options of a read of files. `path` is excluded: the paths of a read are checked one by one in their own field."""
FILE_STREAM: Final = FILE_READ | _read_list("stream-options")
"""Options of a stream of files: those of a read of files, and those of streams."""
FILE_FORMATS: Final = _read_list("file-formats")
FILE_WRITE: Final = _read_list("file-write-options") - {"path"}
DATABASE_READ: Final = _read_list("database-options")
DATABASE_WRITE: Final = _read_list("database-write-options")
TABLE_FORMATS: Final = _read_list("table-formats")
TABLE_WRITE: Final = _read_list("write-options")
TABLE_PROPERTY_OPTIONS: Final = table_properties.TABLE_PROPERTIES
METADATA_KEYS: Final = _read_list("metadata-keys")
"""Keys of column metadata that Spark interprets and a client may write."""
RATE_READ: Final = _read_list("rate-options")
"""Options of the `rate` source of a stream, which reads no data and generates numbers."""
