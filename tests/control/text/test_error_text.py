"""Error texts for callers: Headgate's words, Spark's words about the statement, and no path or host of the machine."""

import json
import re
import time
import zipfile
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors.exceptions.connect import AnalysisException

from headgate.control.text.error_text import is_internal, mask, mask_places, raw_words, visible_words
from headgate.pipelines.errors import describe_failure
from headgate.pipelines.load_errors import LoadError
from headgate.spark.sql.execution import StatementExecution

INSIDE = "cannot open file:///data/keys/secrets.key on 127.0.0.1:8020\n+- Scan /warehouse/secret/a.parquet"
SEEN = "cannot open <path> on <host>"


def by_spark(message: str, sqlstate: str | None) -> Exception:
    return AnalysisException(message=message, sql_state=sqlstate)


@pytest.mark.parametrize(
    "error",
    [by_spark(INSIDE, None), by_spark(INSIDE, "XX000"), OSError(INSIDE), ValueError(INSIDE)],
    ids=["no state", "internal", "the machine", "python"],
)
def test_an_internal_error_is_shown_without_paths_and_hosts(error: Exception) -> None:
    assert visible_words(error) == SEEN
    assert describe_failure(error).words == SEEN
    assert (
        StatementExecution._error(_reading(), error).args[0] == SEEN if isinstance(error, AnalysisException) else True
    )


@pytest.mark.parametrize(
    "error", [by_spark("no column `a/b/c`\ndid you mean `d`?", "42703"), LoadError("in `/a/b`: no")]
)
def test_an_error_that_was_written_for_users_keeps_its_words(error: Exception) -> None:
    assert visible_words(error) == raw_words(error)


def test_visible_words_contain_no_stack_trace() -> None:
    assert visible_words(by_spark("no\n\nJVM stacktrace:\nat a.b", "42703")) == "no"
    assert visible_words(ValueError()) == "ValueError"


def test_a_mask_covers_the_first_line_or_every_line() -> None:
    assert mask(INSIDE) == SEEN
    assert mask_places(INSIDE) == f"{SEEN}\n+- Scan <path>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Connection to db-7.prod.internal:5432 refused", "Connection to <host> refused"),
        ("Connection to db7:5432 refused", "Connection to <host> refused"),
        ("UnknownHostException: minio.prod.internal", "UnknownHostException: <host>"),
        ("UnknownHostException: minio", "UnknownHostException: <host>"),
        ("no answer from minio.prod.internal", "no answer from <host>"),
        ("lost [fe80::1]:7077", "lost <host>"),
        ("lost fe80::1", "lost <host>"),
        ("lost [2001:db8:0:0:0:0:0:1]", "lost <host>"),
        ("cannot open /secret", "cannot open <path>"),
        ("cannot open /data, or link", "cannot open <path>, or link"),
        ("cannot open file:/data/my lake/keys/x", "cannot open <path>"),
        ("cannot open /data/my own lake/keys/x", "cannot open <path>"),
    ],
)
def test_a_mask_hides_every_form_of_a_path_or_host(text: str, shown: str) -> None:
    assert mask(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "lake.raw.t has no column n",
        "java.net.ConnectException: refused at 10:30:05",
        "and/or, 1 / 2, input.format",
        "[FIELD_NOT_FOUND] no such field",
    ],
)
def test_a_mask_leaves_text_that_is_no_path_or_host(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize("part", ["a.", "a-", "/a ", ":", "1:", "f:", "/", "::", "[:", " a", "a:/ "])
def test_a_mask_takes_time_in_proportion_to_the_text(part: str) -> None:
    began = time.process_time()

    mask(part * 20_000)

    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "sqlstate", ["KD001", "KD006", "58030", "HV000", "38000", "56K00", "82003", "42K03", "42710", "QQ000"]
)
def test_an_error_about_files_tasks_or_connections_is_shown_without_places(sqlstate: str) -> None:
    assert visible_words(by_spark(INSIDE, sqlstate)) == SEEN


QUOTED = frozenset(
    [
        "ARTIFACT_ALREADY_EXISTS",
        "AVRO_INCOMPATIBLE_READ_TYPE",
        "CANNOT_DECODE_URL",
        "CYCLIC_FUNCTION_REFERENCE",
        "DATATYPE_MISMATCH",
        "INDETERMINATE_COLLATION_IN_SCHEMA",
        "INVALID_FIELD_NAME",
        "INVALID_JAVA_IDENTIFIER_AS_FIELD_NAME",
        "INVALID_URL",
        "INVALID_VARIANT_GET_PATH",
        "NOT_NULL_ASSERT_VIOLATION",
        "NOT_NULL_CONSTRAINT_VIOLATION",
        "NO_SQL_TYPE_IN_PROTOBUF_SCHEMA",
        "PIPELINE_SQL_GRAPH_ELEMENT_REGISTRATION_ERROR",
        "RECURSIVE_VIEW",
        "UNRESOLVED_FIELD",
        "UNRESOLVED_ROUTINE",
        "UNRESOLVED_VARIABLE",
        "UNSUPPORTED_ADD_FILE",
    ]
)
"""Conditions whose `path`, `url` or `location` is a column, a name or a value that the caller wrote."""
_PLACE = re.compile(r"<(\w*(?:path|file|url|uri|host|address|location|folder|directory|endpoint)\w*)>", re.IGNORECASE)


def test_every_spark_condition_that_names_a_place_is_masked_or_reviewed() -> None:
    kept = {
        name
        for name, condition in _conditions().items()
        if _PLACE.search(json.dumps(condition)) and not is_internal(condition.get("sqlState"))
    }

    assert kept == QUOTED


def _conditions() -> dict[str, Any]:
    for jar in (Path(pyspark.__file__).parent / "jars").glob("spark-common-utils*.jar"):
        with zipfile.ZipFile(jar) as opened:
            if "error/error-conditions.json" in opened.namelist():
                found: dict[str, Any] = json.loads(opened.read("error/error-conditions.json"))
                return found
    raise AssertionError("no jar of Spark has its error conditions")


def _reading() -> StatementExecution:
    reading = StatementExecution.__new__(StatementExecution)
    reading._why, reading._session = None, None
    return reading
