"""The fields of a driver's response, and which responses have only details."""

import pytest
from pyspark.sql.connect.proto import types_pb2

from headgate.spark.gateway.errors import DriverAnswerError
from headgate.spark.gateway.protos import base
from headgate.spark.gateway.response_fields import MAX_FIELDS, has_only_details, read_field_numbers

IDS = {"session_id": "s", "server_side_session_id": "d", "operation_id": "o", "response_id": "r"}
SCHEMA = types_pb2.DataType(long=types_pb2.DataType.Long())
METRICS = base.ExecutePlanResponse.Metrics()
BATCH = base.ExecutePlanResponse.ArrowBatch(row_count=1, data=b"x")
DETAILS = (
    {"schema": SCHEMA},
    {"metrics": METRICS},
    {"observed_metrics": [base.ExecutePlanResponse.ObservedMetrics(name="n")]},
)
RESULTS = (
    {"arrow_batch": BATCH},
    {"result_complete": base.ExecutePlanResponse.ResultComplete()},
    {"sql_command_result": {}},
)


def _build(**fields: object) -> bytes:
    return base.ExecutePlanResponse(**IDS, **fields).SerializeToString()


@pytest.mark.parametrize("fields", DETAILS, ids=str)
def test_a_schema_and_metrics_are_details(fields: dict[str, object]) -> None:
    assert has_only_details(_build(**fields))


@pytest.mark.parametrize("fields", RESULTS, ids=str)
def test_a_result_is_no_detail_with_or_without_details(fields: dict[str, object]) -> None:
    assert not has_only_details(_build(**fields))
    assert not has_only_details(_build(**fields, schema=SCHEMA))


def test_every_kind_of_result_is_no_detail() -> None:
    oneof = base.ExecutePlanResponse.DESCRIPTOR.oneofs_by_name["response_type"]

    for field in oneof.fields:
        response = base.ExecutePlanResponse(**IDS, metrics=METRICS)
        getattr(response, field.name).SetInParent()
        assert not has_only_details(response.SerializeToString()), field.name


def test_a_response_without_details_is_no_detail() -> None:
    assert not has_only_details(_build())
    assert not has_only_details(b"")


def test_large_details_are_no_details() -> None:
    many = [base.ExecutePlanResponse.ObservedMetrics(name="n" * 1000)] * 66
    assert not has_only_details(_build(observed_metrics=many))


def test_a_joined_response_has_the_fields_of_its_parts_and_the_last_ids() -> None:
    parts = [_build(**fields) for fields in DETAILS]
    last = base.ExecutePlanResponse(**{**IDS, "response_id": "last"}, arrow_batch=BATCH).SerializeToString()

    joined = base.ExecutePlanResponse.FromString(b"".join((*parts, last)))

    assert joined.response_id == "last"
    assert (joined.schema, joined.metrics, joined.arrow_batch) == (SCHEMA, METRICS, BATCH)
    assert [each.name for each in joined.observed_metrics] == ["n"]


@pytest.mark.parametrize("damaged", [b"\x08\x01", b"\x0a\x7f", b"\x0a\x02a", b"\x0b"])
def test_a_response_with_an_unusual_or_cut_field_may_have_every_field(damaged: bytes) -> None:
    assert len(read_field_numbers(damaged)) == len(base.ExecutePlanResponse.DESCRIPTOR.fields)
    assert not has_only_details(damaged)


def test_a_response_with_too_many_fields_is_refused() -> None:
    with pytest.raises(DriverAnswerError):
        read_field_numbers(b"\x0a\x00" * (MAX_FIELDS + 1))
