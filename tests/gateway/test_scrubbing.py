"""Errors tell a user what the statement did wrong, and nothing of what else there is."""

import json
import re
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyProto
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.control.error_text import mask
from headgate.spark.gateway import protos
from headgate.spark.gateway.scrubbing import scrub, scrub_chain, scrub_result

base: Any = protos.base  # nested messages are written as dicts here, which the stubs do not know
INTERNAL = grpc.StatusCode.INTERNAL
INSIDE = "Lost task (node7.corp executor 3): open /warehouse/secret/salaries/a.parquet\n\tat x.Y(Z.java:1)"


def rich(message: str, **metadata: str) -> bytes:
    detail = AnyProto()
    detail.Pack(ErrorInfo(reason="org.apache.spark.SparkException", metadata=metadata))
    return Status(code=13, message=message, details=[detail]).SerializeToString()


def metadata(status: bytes) -> dict[str, str]:
    info = ErrorInfo()
    Status.FromString(status).details[0].Unpack(info)
    return dict(info.metadata)


def test_a_refusal_has_one_code_and_only_its_sentence() -> None:
    refused = rich("ann may not read that", sqlState="42501", errorId="e1", stackTrace="at x.Y", classes="[]")

    code, text, status = scrub(INTERNAL, refused)

    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert text == Status.FromString(status).message == "ann may not read that"
    assert metadata(status) == {"sqlState": "42501", "classes": "[]"}


@pytest.mark.parametrize("more", [{}, {"sqlState": "XX000"}], ids=str)
def test_an_internal_error_keeps_its_first_line_without_places(more: dict[str, str]) -> None:
    code, text, status = scrub(INTERNAL, rich(INSIDE, errorId="e1", stackTrace="at x.Y", **more))

    assert (code, text) == (INTERNAL, "Lost task (<host>): open <path>")
    assert Status.FromString(status).message == text
    assert metadata(status) == more


def test_sparks_own_words_about_a_statement_stay() -> None:
    own = rich("[UNRESOLVED_COLUMN] no `x` in a/b", sqlState="42703", errorId="e1")

    assert scrub(INTERNAL, own) == (INTERNAL, "[UNRESOLVED_COLUMN] no `x` in a/b", own)


def test_what_cannot_be_read_says_nothing() -> None:
    _, text, status = scrub(INTERNAL, b"\xff secret")

    assert not text
    assert not Status.FromString(status).message


def test_the_causes_of_an_error_tell_no_more() -> None:
    errors = [
        {"message": "[DIVIDE_BY_ZERO] ...", "spark_throwable": {"sql_state": "22012"}, "stack_trace": [{}]},
        {"message": INSIDE, "stack_trace": [{"declaring_class": "x.Y"}]},
    ]
    answer = base.FetchErrorDetailsResponse(errors=errors).SerializeToString()

    shown = base.FetchErrorDetailsResponse.FromString(scrub_chain(answer)).errors

    assert [error.message for error in shown] == ["[DIVIDE_BY_ZERO] ...", "Lost task (<host>): open <path>"]
    assert not any(error.stack_trace for error in shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot open file:/warehouse/secret/a", "cannot open <path>"),
        ("cannot open s3a://bucket/secret: it is away", "cannot open <path> it is away"),
        ("no connection to 10.0.0.7:7077", "no connection to <host>"),
        ("no connection to localhost:42133", "no connection to <host>"),
        ("use Spark built-in `versionAsOf` instead", "use Spark built-in `versionAsOf` instead"),
        ("the pattern yyyy/MM/dd does not fit 1/2", "the pattern yyyy/MM/dd does not fit 1/2"),
    ],
)
def test_places_are_masked_and_words_are_not(text: str, shown: str) -> None:
    assert mask(text) == shown


PROGRESS = '{"sources":[{"description":"FileStream[file:/warehouse/a]"}],"sink":{"numOutputRows":3}}'
ERROR_TEXT = re.compile(r"error|exception|trace|message|_json$")
HANDLED = {
    "StreamingQueryCommandResult.StatusResult.status_message": "scrub_result",
    "StreamingQueryCommandResult.RecentProgressResult.recent_progress_json": "scrub_result",
    "StreamingQueryCommandResult.ExceptionResult.exception_message": "scrub_result",
    "StreamingQueryCommandResult.ExceptionResult.stack_trace": "scrub_result",
    "StreamingQueryCommandResult.ExceptionResult.error_class": "a word of Spark's, without places",
    "FetchErrorDetailsResponse.Error.message": "scrub_chain",
    "FetchErrorDetailsResponse.Error.error_type_hierarchy": "names of Spark's classes",
    "FetchErrorDetailsResponse.SparkThrowable.error_class": "a word of Spark's, without places",
    "FetchErrorDetailsResponse.BreakingChangeInfo.migration_message": "a fixed text of Spark's",
    "WriteStreamOperationStartResult.query_started_event_json": "id, name and time of a stream",
    "StreamingQueryListenerEvent.event_json": "listeners are refused",
    "MlCommandResult.MlOperatorInfo.warning_message": "machine learning is refused",
    "PipelineEvent.message": "Spark's own pipelines are refused",
}
"""Every text field of an answer that may hold an error, and why it tells no place of the machine."""


def answer_of_a_stream(**result: Any) -> bytes:
    return base.ExecutePlanResponse(session_id="s", streaming_query_command_result=result).SerializeToString()


def result_of(answer: bytes) -> Any:
    return base.ExecutePlanResponse.FromString(answer).streaming_query_command_result


def text_fields(descriptor: Any, known: set[str]) -> Iterator[str]:
    if descriptor.full_name in known:
        return
    known.add(descriptor.full_name)
    for field in descriptor.fields:
        if field.message_type is not None:
            yield from text_fields(field.message_type, known)
        elif field.type == field.TYPE_STRING:
            yield f"{descriptor.full_name.removeprefix('spark.connect.')}.{field.name}"


class TestAnErrorThatComesAsAResult:
    def test_of_a_stream_keeps_its_first_line_without_places_and_no_trace(self) -> None:
        answer = answer_of_a_stream(
            exception={"exception_message": INSIDE, "stack_trace": "at x.Y", "error_class": "E"}
        )

        exception = result_of(scrub_result(answer)).exception

        assert exception.exception_message == "Lost task (<host>): open <path>"
        assert (exception.error_class, exception.HasField("stack_trace")) == ("E", False)

    def test_of_a_status_keeps_its_first_line_without_places(self) -> None:
        answer = answer_of_a_stream(status={"status_message": f"Terminated with exception: {INSIDE}"})

        message = result_of(scrub_result(answer)).status.status_message

        assert message == "Terminated with exception: Lost task (<host>): open <path>"

    def test_of_the_progress_loses_its_places_and_stays_json(self) -> None:
        answer = answer_of_a_stream(recent_progress={"recent_progress_json": [PROGRESS]})

        (shown,) = result_of(scrub_result(answer)).recent_progress.recent_progress_json

        assert json.loads(shown)["sources"] == [{"description": "FileStream[<path>]"}]

    def test_leaves_every_other_message_as_it_is(self) -> None:
        rows = base.ExecutePlanResponse(arrow_batch={"data": b"J" * 1000, "row_count": 1}).SerializeToString()

        assert scrub_result(rows) is rows

    def test_may_be_in_no_other_field_of_an_answer(self) -> None:
        known: set[str] = set()
        answers = [getattr(base, name).DESCRIPTOR for name in dir(base) if name.endswith("Response")]
        found = {
            each for answer in answers for each in text_fields(answer, known) if ERROR_TEXT.search(each.split(".")[-1])
        }

        assert found == HANDLED.keys()
