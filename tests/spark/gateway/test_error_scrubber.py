"""Errors show a user the fault of the statement, and nothing about the machine or other users."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyProto
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.control.text.error_text import mask
from headgate.spark.gateway import protos
from headgate.spark.gateway.artifact_names import restore_statuses
from headgate.spark.gateway.error_scrubber import scrub, scrub_chain, scrub_result
from headgate.spark.gateway.errors import DriverAnswerError
from headgate.spark.gateway.policy.message_types import short_name
from tests.spark.gateway.admission_cases import walk

base: Any = protos.base  # the type stubs do not accept nested messages written as dicts
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


def test_a_refusal_has_one_status_code_and_only_its_sentence() -> None:
    refused = rich("ann may not read that", sqlState="42501", errorId="e1", stackTrace="at x.Y", classes="[]")

    code, text, status = scrub(INTERNAL, refused)

    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert text == Status.FromString(status).message == "ann may not read that"
    assert metadata(status) == {"sqlState": "42501", "classes": "[]"}


@pytest.mark.parametrize("more", [{}, {"sqlState": "XX000"}], ids=str)
def test_an_internal_error_is_reduced_to_its_first_line_without_paths_and_hosts(more: dict[str, str]) -> None:
    code, text, status = scrub(INTERNAL, rich(INSIDE, errorId="e1", stackTrace="at x.Y", **more))

    assert (code, text) == (INTERNAL, "Lost task (<host>): open <path>")
    assert Status.FromString(status).message == text
    assert metadata(status) == more


def test_an_error_of_spark_about_a_statement_is_not_changed() -> None:
    own = rich("[UNRESOLVED_COLUMN] no `x` in a/b", sqlState="42703", errorId="e1")

    assert scrub(INTERNAL, own) == (INTERNAL, "[UNRESOLVED_COLUMN] no `x` in a/b", own)


def test_an_unreadable_status_is_replaced_with_an_empty_message() -> None:
    _, text, status = scrub(INTERNAL, b"\xff secret")

    assert not text
    assert not Status.FromString(status).message


def test_internal_causes_of_an_error_are_masked_and_have_no_stack_trace() -> None:
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
def test_paths_and_hosts_are_masked_and_ordinary_words_are_not(text: str, shown: str) -> None:
    assert mask(text) == shown


ANSWERED = (
    "AddArtifacts",
    "AnalyzePlan",
    "ArtifactStatuses",
    "CloneSession",
    "Config",
    "ExecutePlan",
    "FetchErrorDetails",
    "Interrupt",
    "ReleaseExecute",
    "ReleaseSession",
)
PROGRESS = '{"sources":[{"description":"FileStream[file:/warehouse/a]"}],"sink":{"numOutputRows":3}}'
MASKED: dict[str, tuple[str, ...]] = {
    "scrub_result": (
        "StreamingQueryCommandResult.StatusResult.status_message",
        "StreamingQueryCommandResult.RecentProgressResult.recent_progress_json",
        "StreamingQueryCommandResult.ExceptionResult.exception_message",
        "StreamingQueryCommandResult.ExceptionResult.stack_trace",
    ),
    "scrub_chain": (
        "FetchErrorDetailsResponse.Error.message",
        "FetchErrorDetailsResponse.StackTraceElement.declaring_class",
        "FetchErrorDetailsResponse.StackTraceElement.method_name",
        "FetchErrorDetailsResponse.StackTraceElement.file_name",
        "FetchErrorDetailsResponse.SparkThrowable.MessageParametersEntry.key",
        "FetchErrorDetailsResponse.SparkThrowable.MessageParametersEntry.value",
        "FetchErrorDetailsResponse.QueryContext.object_type",
        "FetchErrorDetailsResponse.QueryContext.object_name",
        "FetchErrorDetailsResponse.QueryContext.fragment",
        "FetchErrorDetailsResponse.QueryContext.call_site",
        "FetchErrorDetailsResponse.QueryContext.summary",
    ),
}
"""The step that masks machine addresses and paths in a text -> the fields that it masks."""
UNMASKED: dict[str, tuple[str, ...]] = {
    "an id of a session, an operation, an answer or a stream": (
        *(f"{name}Response.session_id" for name in ANSWERED),
        *(f"{name}Response.server_side_session_id" for name in ANSWERED),
        "CloneSessionResponse.new_session_id",
        "CloneSessionResponse.new_server_side_session_id",
        "ExecutePlanResponse.operation_id",
        "ExecutePlanResponse.response_id",
        "InterruptResponse.interrupted_ids",
        "ReleaseExecuteResponse.operation_id",
        "CachedRemoteRelation.relation_id",
        "StreamingQueryInstanceId.id",
        "StreamingQueryInstanceId.run_id",
        "PipelineCommandResult.CreateDataflowGraphResult.dataflow_graph_id",
    ),
    "a name that the caller gave": (
        "AddArtifactsResponse.ArtifactSummary.name",
        "ArtifactStatusesResponse.StatusesEntry.key",
        "ExecutePlanResponse.ObservedMetrics.name",
        "ExecutePlanResponse.ObservedMetrics.keys",
        "StreamingQueryManagerCommandResult.StreamingQueryInstance.name",
        "WriteStreamOperationStartResult.name",
    ),
    "a word of Spark's, without places": (
        "AnalyzePlanResponse.SparkVersion.version",
        "ExecutePlanResponse.Metrics.MetricObject.ExecutionMetricsEntry.key",
        "ExecutePlanResponse.Metrics.MetricValue.name",
        "ExecutePlanResponse.Metrics.MetricValue.metric_type",
        "FetchErrorDetailsResponse.Error.error_type_hierarchy",
        "FetchErrorDetailsResponse.SparkThrowable.error_class",
        "FetchErrorDetailsResponse.SparkThrowable.sql_state",
        "FetchErrorDetailsResponse.BreakingChangeInfo.migration_message",
        "FetchErrorDetailsResponse.MitigationConfig.key",
        "FetchErrorDetailsResponse.MitigationConfig.value",
        "StreamingQueryCommandResult.ExceptionResult.error_class",
    ),
    "id, name and time of a stream": ("WriteStreamOperationStartResult.query_started_event_json",),
    "the answer about a plan of which the caller may read every table": (
        "AnalyzePlanResponse.Explain.explain_string",
        "AnalyzePlanResponse.InputFiles.files",
        "AnalyzePlanResponse.JsonToDDL.ddl_string",
        "AnalyzePlanResponse.TreeString.tree_string",
        "ExecutePlanResponse.Metrics.MetricObject.name",
        "StreamingQueryCommandResult.ExplainResult.result",
    ),
    "a configuration key on the list, and its value": (
        "KeyValue.key",
        "KeyValue.value",
        "ConfigResponse.warnings",
    ),
    "the call or command is refused": (
        "GetResourcesCommandResult.ResourcesEntry.key",
        "MlCommandResult.MlOperatorInfo.name",
        "MlCommandResult.MlOperatorInfo.uid",
        "MlCommandResult.MlOperatorInfo.warning_message",
        "MlCommandResult.summary",
        "MlParams.ParamsEntry.key",
        "ObjectRef.id",
        "PipelineEvent.message",
        "PipelineQueryFunctionExecutionSignal.flow_names",
        "ResolvedIdentifier.catalog_name",
        "ResolvedIdentifier.namespace",
        "ResolvedIdentifier.table_name",
        "ResourceInformation.addresses",
        "ResourceInformation.name",
        "StreamingQueryListenerEvent.event_json",
        "StreamingQueryManagerCommandResult.ListStreamingQueryListenerResult.listener_ids",
        "google.protobuf.Any.type_url",
    ),
}
"""The reason why a text cannot contain an address or path of the machine -> the fields with such a text."""
OF_THE_CALLER = {
    "Relation": "the plan that the caller sent, or the rows of its command",
    "DataType": "the schema of the caller's plan",
    "Expression.Literal": "a literal: a value of the caller's rows",
}
"""Messages that a request may contain too; the scrubber does not look into them."""


def answer_of_a_stream(**result: Any) -> bytes:
    return base.ExecutePlanResponse(session_id="s", streaming_query_command_result=result).SerializeToString()


def result_of(answer: bytes) -> Any:
    return base.ExecutePlanResponse.FromString(answer).streaming_query_command_result


def text_fields(descriptor: Any, known: set[str]) -> Iterator[str]:
    if descriptor.full_name in known or descriptor.full_name.removeprefix("spark.connect.") in OF_THE_CALLER:
        return
    known.add(descriptor.full_name)
    for field in descriptor.fields:
        if field.message_type is not None:
            yield from text_fields(field.message_type, known)
        elif field.type == field.TYPE_STRING:
            yield f"{descriptor.full_name.removeprefix('spark.connect.')}.{field.name}"


class TestAnErrorThatComesAsAResult:
    def test_an_exception_of_a_stream_is_masked_and_has_no_stack_trace(self) -> None:
        answer = answer_of_a_stream(
            exception={"exception_message": INSIDE, "stack_trace": "at x.Y", "error_class": "E"}
        )

        exception = result_of(scrub_result(answer)).exception

        assert exception.exception_message == "Lost task (<host>): open <path>"
        assert (exception.error_class, exception.HasField("stack_trace")) == ("E", False)

    def test_the_error_in_the_status_of_a_stream_is_masked(self) -> None:
        answer = answer_of_a_stream(status={"status_message": f"Terminated with exception: {INSIDE}"})

        message = result_of(scrub_result(answer)).status.status_message

        assert message == "Terminated with exception: Lost task (<host>): open <path>"

    def test_the_progress_of_a_stream_is_masked_and_stays_json(self) -> None:
        answer = answer_of_a_stream(recent_progress={"recent_progress_json": [PROGRESS]})

        (shown,) = result_of(scrub_result(answer)).recent_progress.recent_progress_json

        assert json.loads(shown)["sources"] == [{"description": "FileStream[<path>]"}]

    def test_a_result_of_rows_is_not_changed(self) -> None:
        rows = base.ExecutePlanResponse(arrow_batch={"data": b"J" * 1000, "row_count": 1}).SerializeToString()

        assert scrub_result(rows) is rows

    def test_every_text_field_of_an_answer_is_listed_as_masked_or_unmasked(self) -> None:
        known: set[str] = set()
        answers = [getattr(base, name).DESCRIPTOR for name in dir(base) if name.endswith("Response")]
        found = [each for answer in answers for each in text_fields(answer, known)]
        listed = [each for fields in (*MASKED.values(), *UNMASKED.values()) for each in fields]

        assert sorted(found) == sorted(listed)


def filled(message: Any, depth: int = 3) -> Any:
    """Return a message with an address or path of the machine in each of its texts."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            getattr(message, field.name)[INSIDE] = INSIDE
        elif field.message_type is not None and depth:
            target = getattr(message, field.name)
            filled(target.add() if field.is_repeated else target, depth - 1)
        elif field.type == field.TYPE_STRING and field.is_repeated:
            getattr(message, field.name).append(INSIDE)
        elif field.type == field.TYPE_STRING:
            setattr(message, field.name, INSIDE)
    return message


def places(message: Any) -> Iterator[str]:
    """Yield the fields whose text contains an address or path of the machine."""
    for each in walk(message):
        for field, value in each.ListFields():
            if field.message_type is None and "warehouse" in str(value):
                yield f"{short_name(each.DESCRIPTOR)}.{field.name}"
            elif field.message_type is not None and field.message_type.GetOptions().map_entry:
                yield from (
                    f"{short_name(each.DESCRIPTOR)}.{field.name}" for pair in value.items() if "warehouse" in str(pair)
                )


@pytest.mark.parametrize("state", ["", "XX000"])
def test_an_internal_cause_below_an_error_of_the_caller_is_masked_in_every_text(state: str) -> None:
    own = {"message": "[DIVIDE_BY_ZERO] ...", "spark_throwable": {"sql_state": "22012"}, "cause_idx": 1}
    answer = base.FetchErrorDetailsResponse(root_error_idx=0, errors=[own])
    cause = filled(answer.errors.add())
    cause.spark_throwable.sql_state = state
    assert len(set(places(answer))) > 10

    shown = base.FetchErrorDetailsResponse.FromString(scrub_chain(answer.SerializeToString()))

    assert set(places(shown)) <= set(UNMASKED["a word of Spark's, without places"])
    assert shown.errors[1].message == "Lost task (<host>): open <path>"


def many_causes() -> bytes:
    return base.FetchErrorDetailsResponse(errors=[{}] * 1_001).SerializeToString()


def large_causes() -> bytes:
    return base.FetchErrorDetailsResponse(errors=[{"message": "x" * (17 << 20)}]).SerializeToString()


def many_fields() -> bytes:
    return b"\x0a\x00" * 1_001


def endless_number() -> bytes:
    return b"\xff" * (1 << 20)


def many_statuses() -> bytes:
    return base.ArtifactStatusesResponse(statuses={"a": {}, "b": {}}).SerializeToString()


def many_texts_of_progress() -> bytes:
    progress = {"recent_progress": {"recent_progress_json": [""] * 1_001}}
    return base.ExecutePlanResponse(streaming_query_command_result=progress).SerializeToString()


@pytest.mark.parametrize(
    ("read", "answer"),
    [
        (scrub_chain, many_causes),
        (scrub_chain, large_causes),
        (scrub_result, many_fields),
        (scrub_result, endless_number),
        (partial(restore_statuses, clients={"a": "a"}), many_statuses),
        (scrub_result, many_texts_of_progress),
    ],
)
def test_an_answer_of_the_driver_with_too_many_parts_is_refused(
    read: Callable[[bytes], bytes], answer: Callable[[], bytes]
) -> None:
    with pytest.raises(DriverAnswerError, match="a response that is larger than Spark's limit"):
        read(answer())
