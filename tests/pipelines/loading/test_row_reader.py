"""The message about a file that Spark cannot read."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors.exceptions.connect import AnalysisException

from headgate.pipelines.load_errors import LoadError
from headgate.pipelines.loading.row_reader import read_files
from headgate.pipelines.loading.streams import FileStream

STREAM = FileStream(name="s", into="lake.raw.s", file="a.csv")


class FailingSpark:
    """A Spark session that fails to read, always with the same error."""

    def __init__(self, sqlstate: str, words: str) -> None:
        self._error = AnalysisException(words, sql_state=sqlstate)
        self.read = self

    def format(self, _: str) -> "FailingSpark":
        return self

    def option(self, *_: str) -> "FailingSpark":
        return self

    def load(self, _: str) -> None:
        raise self._error


def read(folder: Path, spark: Any) -> None:
    (folder / "a.csv").write_text("n\n1\n")
    list(read_files(spark, STREAM, folder))


@pytest.mark.parametrize("sqlstate", ["08001", "08006"])
def test_a_lost_driver_is_not_reported_as_an_unreadable_file(tmp_path: Path, sqlstate: str) -> None:
    spark = FailingSpark(sqlstate, "Spark is starting; try again in a few seconds")

    with pytest.raises(LoadError, match=r"Spark ended before or while it read `a\.csv`") as raised:
        read(tmp_path, spark)

    assert "cannot be read" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"`a\.csv` cannot be read: no columns"):
        read(tmp_path, FailingSpark("42000", "no columns"))


def test_a_refusal_of_the_guard_is_raised_unchanged(tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match="not declared"):
        read(tmp_path, FailingSpark("42501", "not declared"))
