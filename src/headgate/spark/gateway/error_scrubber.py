"""Scrubbing of Spark's errors: users see what is wrong with a statement, but not where on the machine it failed."""

from typing import Final

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.control.text.error_text import REFUSED_STATE, is_internal, mask, mask_places
from headgate.spark.gateway.protos import base
from headgate.spark.gateway.response_limits import parse_answer, read_field_numbers, require_few_parts

_KEPT: Final = frozenset({"classes", "errorClass", "sqlState"})
"""The metadata that a short error keeps: not the error id, with which a client fetches all causes, and no stack trace."""
_STREAM_RESULT: Final = base.ExecutePlanResponse.DESCRIPTOR.fields_by_name["streaming_query_command_result"].number
_MOST_PARTS: Final = 1_000
"""The limit of causes of an error, and of progress texts of a stream."""


def scrub(code: grpc.StatusCode, rich: bytes) -> tuple[grpc.StatusCode, str, bytes]:
    """Return the code, text and rich status that the user may see.

    A refusal keeps only its message, and has the same code whether the guard or the catalog refused. An error without
    a SQLSTATE, or with an internal one, was not written for users: plans, stack traces, paths and hosts are removed.
    """
    status, info = read_status(rich)
    state = info.metadata.get("sqlState", "")
    if state == REFUSED_STATE:
        return _short(grpc.StatusCode.PERMISSION_DENIED, status.message, info)
    if is_internal(state):
        return _short(code, mask(status.message), info)
    return code, status.message, rich


def read_status(rich: bytes) -> tuple[Status, ErrorInfo]:
    """Return the status and its `ErrorInfo`; both are empty if the bytes cannot be parsed."""
    info = ErrorInfo()
    try:
        status = Status.FromString(rich)
    except DecodeError:
        return Status(), info
    for detail in status.details:
        detail.Unpack(info)  # has no effect on a detail of another type
    return status, info


def status_sqlstate(rich: bytes) -> str:
    """Return the SQLSTATE of a rich status, or an empty string."""
    return read_status(rich)[1].metadata.get("sqlState", "")


def scrub_chain(answer: bytes) -> bytes:
    """Return a `FetchErrorDetailsResponse` with each cause scrubbed like `scrub`. Raises `DriverAnswerError`."""
    response = parse_answer(base.FetchErrorDetailsResponse, answer)
    require_few_parts(response.errors, _MOST_PARTS)
    for error in response.errors:
        error.ClearField("stack_trace")
        if is_internal(error.spark_throwable.sql_state):
            error.message = mask(error.message)
            # Parameters repeat the text of the message, and contexts do not help: an internal error is not in the statement.
            error.spark_throwable.ClearField("message_parameters")
            error.spark_throwable.ClearField("query_contexts")
    return response.SerializeToString()


def scrub_result(answer: bytes) -> bytes:
    """Return a message of results with the errors in its data scrubbed, such as those of a stream.

    Raises `DriverAnswerError`.
    """
    if _STREAM_RESULT not in read_field_numbers(answer):
        return answer
    response = parse_answer(base.ExecutePlanResponse, answer)
    result = response.streaming_query_command_result
    if result.HasField("exception"):
        result.exception.exception_message = mask(result.exception.exception_message)
        result.exception.ClearField("stack_trace")
    elif result.HasField("status"):
        result.status.status_message = mask(result.status.status_message)
    elif result.HasField("recent_progress"):
        require_few_parts(result.recent_progress.recent_progress_json, _MOST_PARTS)
        shown = [mask_places(each) for each in result.recent_progress.recent_progress_json]
        result.recent_progress.recent_progress_json[:] = shown
    else:
        return answer
    return response.SerializeToString()


def _short(code: grpc.StatusCode, message: str, info: ErrorInfo) -> tuple[grpc.StatusCode, str, bytes]:
    detail = Any()
    metadata = {key: value for key, value in info.metadata.items() if key in _KEPT}
    detail.Pack(ErrorInfo(reason=info.reason, domain=info.domain, metadata=metadata))
    return code, message, Status(code=code.value[0], message=message, details=[detail]).SerializeToString()
