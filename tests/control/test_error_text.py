"""What a caller may read of an error: Headgate's words, Spark's words about the statement, and no place of the machine."""

import pytest
from pyspark.errors.exceptions.connect import AnalysisException

from headgate.control.error_text import mask, mask_places, raw_words, visible_words
from headgate.pipelines.errors import failure
from headgate.pipelines.loading.errors import LoadError
from headgate.spark.reading import SparkReading

INSIDE = "cannot open file:///data/keys/secrets.key on 127.0.0.1:8020\n+- Scan /warehouse/secret/a.parquet"
SEEN = "cannot open <path> on <host>"


def by_spark(message: str, sqlstate: str | None) -> Exception:
    return AnalysisException(message=message, sql_state=sqlstate)


@pytest.mark.parametrize(
    "error",
    [by_spark(INSIDE, None), by_spark(INSIDE, "XX000"), OSError(INSIDE), ValueError(INSIDE)],
    ids=["no state", "internal", "the machine", "python"],
)
def test_an_error_that_was_not_written_for_users_loses_its_places(error: Exception) -> None:
    assert visible_words(error) == SEEN
    assert failure(error).words == SEEN
    assert SparkReading._error(_reading(), error).args[0] == SEEN if isinstance(error, AnalysisException) else True


@pytest.mark.parametrize(
    "error", [by_spark("no column `a/b/c`\ndid you mean `d`?", "42703"), LoadError("in `/a/b`: no")]
)
def test_an_error_that_was_written_for_users_keeps_its_words(error: Exception) -> None:
    assert visible_words(error) == raw_words(error)


def test_no_error_has_a_stack_trace() -> None:
    assert visible_words(by_spark("no\n\nJVM stacktrace:\nat a.b", "42703")) == "no"
    assert visible_words(ValueError()) == "ValueError"


def test_a_mask_is_for_one_line_or_for_all() -> None:
    assert mask(INSIDE) == SEEN
    assert mask_places(INSIDE) == f"{SEEN}\n+- Scan <path>"


def _reading() -> SparkReading:
    reading = SparkReading.__new__(SparkReading)
    reading._why, reading._session = None, None
    return reading
