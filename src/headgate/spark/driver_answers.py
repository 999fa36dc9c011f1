"""What a driver answers to the server itself, checked before Spark's client reads it.

The client takes the driver for trusted: it loads pickles of accumulators, imports the classes of user-defined types, and reads
the rows at whatever offsets they state. Code in a driver must not reach the server by that.
"""

from collections.abc import Iterator
from typing import Any

import grpc
from pyspark.errors.exceptions.connect import SparkConnectException
from pyspark.sql.connect.proto import AnalyzePlanResponse, DataType, ExecutePlanRequest, ExecutePlanResponse

from headgate.untrusted_input.arrow import require_valid_arrow
from headgate.untrusted_input.errors import UntrustedInputError


class CheckedAnswers(grpc.UnaryStreamClientInterceptor, grpc.UnaryUnaryClientInterceptor):
    """Passes on to Spark's client only answers that it can read without harm. Raises `SparkConnectException` for others."""

    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        """Send a statement, or come back for its results."""
        if isinstance(request, ExecutePlanRequest):
            _require_whole_batches(request)
        return _checked(continuation(client_call_details, request))

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        """Send any other call."""
        call = continuation(client_call_details, request)
        if call.exception() is None and isinstance(answer := call.result(), AnalyzePlanResponse):
            for type in (answer.schema.schema, answer.ddl_parse.parsed):
                _require_plain_type(type)
        return call


def _require_whole_batches(request: ExecutePlanRequest) -> None:
    """Ask for batches in one piece each: the client collects pieces without end."""
    for option in request.request_options:
        if option.HasField("result_chunking_options"):
            option.result_chunking_options.allow_arrow_batch_chunking = False


def _checked(call: Any) -> Iterator[ExecutePlanResponse]:
    try:
        for answer in call:
            _check(answer)
            yield answer
    finally:
        call.cancel()  # does nothing to a call that has ended


def _check(answer: ExecutePlanResponse) -> None:
    answer.ClearField("observed_metrics")  # the server observes nothing, and the client unpickles some of them
    if answer.HasField("schema"):
        _require_plain_type(answer.schema)
    if answer.HasField("arrow_batch"):
        _require_valid_batch(answer.arrow_batch)


def _require_valid_batch(batch: ExecutePlanResponse.ArrowBatch) -> None:
    if batch.num_chunks_in_batch > 1 or batch.chunk_index:
        raise _refusal("the rows come in pieces; restart the Spark driver")
    try:
        require_valid_arrow(batch.data)
    except UntrustedInputError as error:
        raise _refusal(error) from None


def _require_plain_type(type: DataType) -> None:
    match type.WhichOneof("kind"):
        case "udt":
            raise _refusal("a column has a user-defined type; restart the Spark driver")
        case "array":
            _require_plain_type(type.array.element_type)
        case "map":
            _require_plain_type(type.map.key_type)
            _require_plain_type(type.map.value_type)
        case "struct":
            for field in type.struct.fields:
                _require_plain_type(field.data_type)
        case _:
            pass


def _refusal(why: object) -> SparkConnectException:
    return SparkConnectException(f"the server does not read Spark's answer: {why}")
