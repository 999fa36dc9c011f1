"""Spark's client parses no response of a driver that could harm the client's process."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import grpc
import pyarrow as pa
import pytest
from pyspark.errors.exceptions.connect import SparkConnectException
from pyspark.sql.connect.proto import (
    AnalyzePlanResponse,
    DataType,
    ExecutePlanRequest,
    ExecutePlanResponse,
    ReattachExecuteRequest,
)
from typing_extensions import override

from headgate.spark.driver.response_validation import CheckedAnswers
from tests.arrow_streams import column, with_offsets

ROWS = column(pa.array(["a"]))
COMING_BACK = [ReattachExecuteRequest(operation_id="a")] * 64
BINARY = DataType(binary=DataType.Binary())
UDT = DataType(udt=DataType.UDT(type="udt", python_class="pyspark.shell.anything", sql_type=BINARY))
NESTED = {
    "a column": UDT,
    "an array": DataType(array=DataType.Array(element_type=UDT)),
    "a map's key": DataType(map=DataType.Map(key_type=UDT, value_type=BINARY)),
    "a map's value": DataType(map=DataType.Map(key_type=BINARY, value_type=UDT)),
}


class Call:
    """A call with given responses."""

    def __init__(self, answers: Iterable[Any]) -> None:
        self.answers = list(answers)
        self.is_cancelled = False

    def __iter__(self) -> Any:
        return iter(self.answers)

    def cancel(self) -> None:
        self.is_cancelled = True

    def exception(self) -> None:
        return None

    def result(self) -> Any:
        return self.answers[0]


class Unparsed(grpc.RpcError):
    """A call with a response that gRPC could not parse, and with gRPC's error."""

    def __iter__(self) -> Any:
        raise self

    def cancel(self) -> None:
        pass

    def exception(self) -> grpc.RpcError:
        return self

    @override
    def details(self) -> str:
        return "Exception deserializing response!"


def answered(*answers: ExecutePlanResponse, request: ExecutePlanRequest | None = None) -> list[ExecutePlanResponse]:
    """Return the responses to a statement as Spark's client gets them."""
    sent = request or ExecutePlanRequest()
    return list(CheckedAnswers().intercept_unary_stream(lambda *_: Call(answers), None, sent))


def rows(data: bytes, **more: int) -> ExecutePlanResponse:
    return ExecutePlanResponse(arrow_batch=ExecutePlanResponse.ArrowBatch(row_count=1, data=data, **more))


def columns(type: DataType) -> DataType:
    """Return the type of rows with one column."""
    return DataType(struct=DataType.Struct(fields=[DataType.StructField(name="c", data_type=type)]))


def test_ordinary_answers_pass_unchanged() -> None:
    sent = [ExecutePlanResponse(schema=columns(BINARY)), rows(ROWS), rows(ROWS, num_chunks_in_batch=1)]

    assert answered(*sent) == sent


@pytest.mark.parametrize("offsets", [(0, 1 << 20), (1 << 20, 1 << 21), (-8, 8)])
def test_rows_that_lie_outside_their_batch_are_refused(offsets: tuple[int, int]) -> None:
    with pytest.raises(SparkConnectException, match="not a valid Arrow stream"):
        answered(rows(with_offsets(*offsets, pa.binary())))


def test_the_error_of_a_too_deeply_nested_answer_names_the_remedy() -> None:
    unparsed = Unparsed()
    asked = (
        lambda: list(CheckedAnswers().intercept_unary_stream(lambda *_: unparsed, None, ExecutePlanRequest())),
        lambda: CheckedAnswers().intercept_unary_unary(lambda *_: unparsed, None, None),
    )

    for ask in asked:
        with pytest.raises(SparkConnectException, match="flatten the columns") as raised:
            ask()
        assert raised.value.getSqlState() == "0A000"


@pytest.mark.parametrize("piece", [{"num_chunks_in_batch": 2, "chunk_index": 0}, {"chunk_index": 1}])
def test_a_batch_that_arrives_in_pieces_is_refused(piece: dict[str, int]) -> None:
    with pytest.raises(SparkConnectException, match="split a batch of rows into chunks"):
        answered(rows(ROWS, **piece))


def test_the_client_requests_batches_in_one_piece() -> None:
    request = ExecutePlanRequest()
    request.request_options.add().result_chunking_options.allow_arrow_batch_chunking = True

    answered(request=request)

    assert not request.request_options[0].result_chunking_options.allow_arrow_batch_chunking


def test_an_endless_answer_of_a_command_is_refused_at_64_mib() -> None:
    command = ExecutePlanRequest(operation_id="a")
    command.plan.command.SetInParent()
    checked = CheckedAnswers()
    for request in [command, *COMING_BACK[:62]]:
        assert go_on(checked, request)

    with pytest.raises(SparkConnectException, match="larger than 64 MiB"):
        go_on(checked, COMING_BACK[63])


def test_endless_rows_of_a_query_are_passed_on() -> None:
    command = ExecutePlanRequest(operation_id="b")
    command.plan.command.SetInParent()
    checked = CheckedAnswers()

    assert all(go_on(checked, request) for request in [ExecutePlanRequest(operation_id="a"), *COMING_BACK])
    assert all(go_on(checked, request) for request in [command, *COMING_BACK])


def go_on(checked: CheckedAnswers, request: Any) -> list[ExecutePlanResponse]:
    """Return one mebibyte of responses for a request."""
    answer = ExecutePlanResponse(session_id="s" * (1 << 20))
    return list(checked.intercept_unary_stream(lambda *_: Call([answer]), None, request))


@pytest.mark.parametrize("where", NESTED)
def test_the_classes_of_user_defined_types_are_not_imported(where: str) -> None:
    type = columns(NESTED[where])
    analyses = (
        AnalyzePlanResponse(schema=AnalyzePlanResponse.Schema(schema=type)),
        AnalyzePlanResponse(ddl_parse=AnalyzePlanResponse.DDLParse(parsed=type)),
    )

    with pytest.raises(SparkConnectException, match="user-defined type"):
        answered(ExecutePlanResponse(schema=type))
    for analysis in analyses:
        with pytest.raises(SparkConnectException, match="user-defined type"):
            CheckedAnswers().intercept_unary_unary(lambda *_, each=analysis: Call([each]), None, None)


def test_a_session_with_checked_answers_can_be_cloned() -> None:
    assert isinstance(deepcopy(CheckedAnswers()), CheckedAnswers)


def test_pickles_of_accumulators_are_not_returned_to_the_client() -> None:
    metrics = ExecutePlanResponse.ObservedMetrics(name="__python_accumulator__")

    [found] = answered(ExecutePlanResponse(observed_metrics=[metrics], session_id="s"))

    assert not found.observed_metrics
    assert found.session_id == "s"


def test_a_statement_that_is_not_read_to_its_end_is_cancelled() -> None:
    call = Call([rows(ROWS), rows(ROWS)])
    answers = CheckedAnswers().intercept_unary_stream(lambda *_: call, None, ExecutePlanRequest())

    next(answers)
    answers.close()

    assert call.is_cancelled
