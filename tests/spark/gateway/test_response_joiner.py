"""Joining of responses: details wait for the result after them, and results arrive at once and unchanged."""

from typing import Any

import pytest
from pyspark.sql.connect.proto import types_pb2

from headgate.spark.gateway.errors import DriverAnswerError
from headgate.spark.gateway.protos import base
from headgate.spark.gateway.response_joiner import ResponseJoiner
from headgate.spark.gateway.response_limits import MAX_FIELDS, read_field_numbers

RESPONSE: Any = base.ExecutePlanResponse
IDS = {"session_id": "s", "server_side_session_id": "d", "operation_id": "o", "response_id": "r"}
SCHEMA = types_pb2.DataType(long=types_pb2.DataType.Long())
METRICS = RESPONSE.Metrics()
BATCH = RESPONSE.ArrowBatch(row_count=1, data=b"x")
DETAILS = (
    {"schema": SCHEMA},
    {"metrics": METRICS},
    {"observed_metrics": [RESPONSE.ObservedMetrics(name="n")]},
)
RESULTS = (
    {"arrow_batch": BATCH},
    {"result_complete": RESPONSE.ResultComplete()},
    {"sql_command_result": {}},
)


def _build(**fields: Any) -> bytes:
    return RESPONSE(**IDS, **fields).SerializeToString()


def _waits(response: bytes) -> bool:
    return ResponseJoiner().join(response) is None


@pytest.mark.parametrize("fields", DETAILS, ids=str)
def test_a_schema_and_metrics_wait(fields: dict[str, Any]) -> None:
    assert _waits(_build(**fields))


@pytest.mark.parametrize("fields", RESULTS, ids=str)
def test_a_result_is_sent_at_once_with_or_without_details(fields: dict[str, Any]) -> None:
    assert not _waits(_build(**fields))
    assert not _waits(_build(**fields, schema=SCHEMA))


def test_every_kind_of_result_except_progress_is_sent_at_once() -> None:
    oneof = RESPONSE.DESCRIPTOR.oneofs_by_name["response_type"]

    for field in oneof.fields:
        response = RESPONSE(**IDS, metrics=METRICS)
        getattr(response, field.name).SetInParent()
        assert _waits(response.SerializeToString()) == (field.name == "execution_progress"), field.name


def test_a_response_without_details_is_sent_at_once() -> None:
    assert not _waits(_build())
    assert not _waits(b"")


def test_large_details_are_sent_at_once() -> None:
    many = [RESPONSE.ObservedMetrics(name="n" * 1000)] * 66
    assert not _waits(_build(observed_metrics=many))
    joiner = ResponseJoiner()
    assert [joiner.join(_build(observed_metrics=many[:40])) is None for _ in range(4)] == [True, False, True, False]


def test_a_joined_response_has_the_fields_of_its_parts_and_the_last_ids() -> None:
    joiner = ResponseJoiner()
    last = RESPONSE(**{**IDS, "response_id": "last"}, arrow_batch=BATCH).SerializeToString()

    assert [joiner.join(_build(**fields)) for fields in DETAILS] == [None] * len(DETAILS)
    joined = RESPONSE.FromString(joiner.join(last) or b"")

    assert joined.response_id == "last"
    assert (joined.schema, joined.metrics, joined.arrow_batch) == (SCHEMA, METRICS, BATCH)
    assert [each.name for each in joined.observed_metrics] == ["n"]
    assert joiner.take_rest() == b""


def test_new_progress_is_sent_at_once_and_the_same_progress_only_with_what_follows() -> None:
    joiner = ResponseJoiner()
    nothing, some, more = (
        _build(execution_progress={"stages": [{"stage_id": 1, "num_tasks": tasks}] if tasks else []})
        for tasks in (0, 1, 2)
    )

    sent = [joiner.join(each) for each in (nothing, some, some, more, more)]
    end = RESPONSE.FromString(joiner.join(_build(arrow_batch=BATCH)) or b"")

    assert [each is not None for each in sent] == [False, True, False, True, False]
    assert RESPONSE.FromString(sent[1] or b"").execution_progress.stages[0].num_tasks == 1
    assert end.WhichOneof("response_type") == "arrow_batch"
    third = RESPONSE.FromString(sent[3] or b"").execution_progress
    assert [(stage.stage_id, stage.num_tasks) for stage in third.stages] == [(1, 2)]  # nothing of the former report


def test_metrics_beside_a_repeated_progress_report_are_kept() -> None:
    joiner = ResponseJoiner()

    assert joiner.join(_build(metrics=METRICS, execution_progress={})) is None
    joined = RESPONSE.FromString(joiner.join(_build(execution_progress={"stages": [{"stage_id": 1}]})) or b"")

    assert joined.HasField("metrics")
    assert len(joined.execution_progress.stages) == 1


def test_repeated_progress_reports_add_nothing_to_the_next_response() -> None:
    joiner = ResponseJoiner()
    for _ in range(3):
        assert joiner.join(_build(execution_progress={})) is None

    assert joiner.join(_build(arrow_batch=BATCH)) == _build(arrow_batch=BATCH)


def test_a_response_is_sent_at_once_if_nothing_was_sent_for_some_seconds() -> None:
    now = [100.0]
    joiner = ResponseJoiner(lambda: now[0])
    report = _build(execution_progress={})
    sent = list[bool]()

    for _ in range(6):
        sent.append(joiner.join(report) is not None)
        now[0] += 2.0

    assert sent == [False, False, False, True, False, False]


def test_a_damaged_progress_report_is_refused() -> None:
    with pytest.raises(DriverAnswerError):
        ResponseJoiner().join(b"\x92\x01\x02\x0a\x7f")


def test_details_at_the_end_of_a_stream_are_not_lost() -> None:
    joiner = ResponseJoiner()

    assert joiner.join(_build(schema=SCHEMA)) is None

    assert joiner.take_rest() == _build(schema=SCHEMA)
    assert joiner.take_rest() == b""


@pytest.mark.parametrize("damaged", [b"\x08\x01", b"\x0a\x7f", b"\x0a\x02a", b"\x0b"])
def test_a_response_with_an_unusual_or_cut_field_may_have_every_field(damaged: bytes) -> None:
    assert len(read_field_numbers(damaged)) == len(RESPONSE.DESCRIPTOR.fields)
    assert not _waits(damaged)


def test_a_response_with_too_many_fields_is_refused() -> None:
    with pytest.raises(DriverAnswerError):
        read_field_numbers(b"\x0a\x00" * (MAX_FIELDS + 1))
