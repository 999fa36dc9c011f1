"""User code: the messages that carry Python or JVM code, and the artifacts that may. It does not run in the driver."""

import re
from typing import Final

REFUSAL: Final = "user code does not run in the driver"

MESSAGES: Final = (
    "ApplyInPandasWithState",
    "CoGroupMap",
    "CommonInlineUserDefinedDataSource",
    "CommonInlineUserDefinedFunction",
    "CommonInlineUserDefinedTableFunction",
    "GroupMap",
    "JavaUDF",
    "MapPartitions",
    "PythonDataSource",
    "PythonUDF",
    "PythonUDTF",
    "ScalarScalaUDF",
    "StreamingForeachFunction",
    "TransformWithStateInfo",
    "TypedAggregateExpression",
)
"""Types of messages of Spark Connect."""

_CACHED_DATA: Final = re.compile(r"cache/[0-9a-f]{64}")


def is_artifact_of_data(name: str) -> bool:
    """Return whether an artifact is data by its name, the hash of the data, and so neither a file, an archive nor a jar."""
    return _CACHED_DATA.fullmatch(name) is not None
