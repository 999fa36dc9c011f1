"""User code, which must not run in the driver: the messages with Python or JVM code, and the artifacts that may contain it."""

import re
from typing import Final

REFUSAL: Final = "Headgate runs no code of users on Spark; use built-in functions, a function with a body in SQL (`CREATE TEMPORARY FUNCTION`), or `toPandas()` and code in your program"

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
"""The message types of Spark Connect that contain user code."""

_CACHED_DATA: Final = re.compile(r"cache/[0-9a-f]{64}")


def is_artifact_of_data(name: str) -> bool:
    """Whether the artifact is data: its name is `cache/` and a hash, so that it is no file, archive or jar."""
    return _CACHED_DATA.fullmatch(name) is not None
