"""Validation of a driver's responses to the server itself, before Spark's client reads them.

The client trusts the driver: it unpickles accumulators, imports the classes of user-defined types, and reads rows at the
offsets that they state. Malicious code in a driver must not attack the server in this way.
"""

import threading
from collections.abc import Iterator
from typing import Any, Final

import grpc
from pyspark.errors.exceptions.connect import SparkConnectException
from pyspark.sql.connect.proto import AnalyzePlanResponse, DataType, ExecutePlanRequest, ExecutePlanResponse
from typing_extensions import override

from headgate.untrusted_input.arrow import require_valid_arrow
from headgate.untrusted_input.errors import UntrustedInputError

_LARGEST_COMMAND: Final = 64 * 1024 * 1024
"""The limit of bytes of the response to a command, which the client collects."""

_UNPARSED: Final = "Exception deserializing response"
"""The text of gRPC's error for a response that it cannot parse."""

_here = threading.local()
"""The command that this thread sent last: the same thread later fetches the rest of its response."""


class UnreadableRowsError(SparkConnectException):
    """The rows are of a type that the server does not read; the session remains usable."""

    @override
    def getSqlState(self) -> str:
        """Return the SQLSTATE of an unsupported feature."""
        return "0A000"


class CheckedAnswers(grpc.UnaryStreamClientInterceptor, grpc.UnaryUnaryClientInterceptor):
    """Passes only harmless responses to Spark's client. Raises `SparkConnectException` for others."""

    @override
    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        """Send a statement, or reattach to its results."""
        if isinstance(request, ExecutePlanRequest):
            _require_whole_batches(request)
            _here.command = _Command(request.operation_id) if request.plan.HasField("command") else None
        sent: _Command | None = getattr(_here, "command", None)
        command = sent if sent is not None and sent.operation == request.operation_id else None
        return _checked(continuation(client_call_details, request), command)

    @override
    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        """Send any other call."""
        call = continuation(client_call_details, request)
        if (error := call.exception()) is not None:
            _require_parsed(error)
        elif isinstance(answer := call.result(), AnalyzePlanResponse):
            for type in (answer.schema.schema, answer.ddl_parse.parsed):
                _require_plain_type(type)
        return call


class _Command:
    """A command, whose responses the client collects; rows of a query it passes on as they arrive."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self._left = _LARGEST_COMMAND

    def count(self, answer: ExecutePlanResponse) -> None:
        self._left -= answer.ByteSize()
        if self._left < 0:
            raise SparkConnectException(
                f"the Spark driver's response to a command is larger than {_LARGEST_COMMAND >> 20} MiB, so the response was not read; "
                "ask the operator to restart the Spark driver"
            )


def _checked(call: Any, command: _Command | None) -> Iterator[ExecutePlanResponse]:
    try:
        for answer in call:
            if command is not None:
                command.count(answer)
            _check(answer)
            yield answer
    except grpc.RpcError as error:
        _require_parsed(error)
        raise
    finally:
        call.cancel()  # has no effect on a call that has ended


def _require_whole_batches(request: ExecutePlanRequest) -> None:
    """Request each batch in one chunk: the client would collect chunks without a limit."""
    for option in request.request_options:
        if option.HasField("result_chunking_options"):
            option.result_chunking_options.allow_arrow_batch_chunking = False


def _require_parsed(error: Any) -> None:
    """Raise `UnreadableRowsError` if the error is that a response nests deeper than protobuf parses."""
    if _UNPARSED in (error.details() or ""):
        raise UnreadableRowsError(
            "the types of the columns of the result are nested too deeply for Spark Connect; flatten the columns"
        ) from None


def _check(answer: ExecutePlanResponse) -> None:
    answer.ClearField(
        "observed_metrics"
    )  # the server uses no observed metrics, and the client would unpickle some of them
    if answer.HasField("schema"):
        _require_plain_type(answer.schema)
    if answer.HasField("arrow_batch"):
        _require_valid_batch(answer.arrow_batch)


def _require_valid_batch(batch: ExecutePlanResponse.ArrowBatch) -> None:
    if batch.num_chunks_in_batch > 1 or batch.chunk_index:
        raise SparkConnectException(
            "the Spark driver split a batch of rows into chunks, so the rows were not read; ask the operator to restart the Spark driver"
        )
    try:
        require_valid_arrow(batch.data)
    except UntrustedInputError as error:
        raise UnreadableRowsError(
            f"Spark returned rows that the server cannot read ({error}); cast the columns of unusual types to STRING, or report the statement to the operator"
        ) from None


def _require_plain_type(type: DataType) -> None:
    match type.WhichOneof("kind"):
        case "udt":
            raise SparkConnectException(
                "the Spark driver returned a column of a user-defined type, so the rows were not read; ask the operator to restart the "
                "Spark driver"
            )
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
