"""Writing a result into a lake table in full: made by the first run, replaced row for row by every later one."""

from pyspark.sql import DataFrame
from pyspark.sql.connect.functions import lit


def write_full(frame: DataFrame, into: str, *, exists: bool) -> None:
    """Make the table from the rows, or replace all its rows in one commit."""
    writer = frame.writeTo(into)
    if exists:
        writer.overwrite(lit(True))  # noqa: FBT003 (the condition that holds for every row)
    else:
        writer.create()
