"""Allow lists of read and write options, loaded from the resource files of the guard so that both use the same lists."""

from typing import Final

from headgate.spark.gateway.policy.guard_lists import read_first_words

TABLE_READ: Final = read_first_words("read-options")
FILE_READ: Final = read_first_words("file-options") - {"path"}
"""Options of a read of files. `path` is excluded: the paths of a read are checked one by one in their own field."""
FILE_STREAM: Final = FILE_READ | read_first_words("stream-options")
"""Options of a stream of files: those of a read of files, and those of streams."""
FILE_FORMATS: Final = read_first_words("file-formats")
FILE_WRITE: Final = read_first_words("file-write-options") - {"path"}
DATABASE_READ: Final = read_first_words("database-options")
DATABASE_WRITE: Final = read_first_words("database-write-options")
TABLE_FORMATS: Final = read_first_words("table-formats")
TABLE_WRITE: Final = read_first_words("write-options")
METADATA_KEYS: Final = read_first_words("metadata-keys")
"""Keys of column metadata that Spark interprets and a client may write."""
RATE_BATCH_READ: Final = read_first_words("rate-batch-options")
"""Options of the `rate-micro-batch` source of a stream, which generates a number of rows in each batch."""
RATE_READ: Final = read_first_words("rate-options")
"""Options of the `rate` source of a stream, which reads no data and generates numbers."""
