"""Errors of Spark's made fit for users: what a statement did wrong is theirs, where it went wrong is the operator's."""

import re
from typing import Final

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.spark.gateway.protos import base
from headgate.spark.statements import REFUSED

_INTERNAL_STATE: Final = "XX"
"""How the SQLSTATE of an internal error begins."""
_KEPT: Final = frozenset({"classes", "errorClass", "sqlState"})
"""Not the id of the error, by which a client asks for the whole chain of causes, and no stack trace."""
_PLACES: Final = (
    (re.compile(r"\b[A-Za-z][\w+.-]*:/[^\s'\"`,;)\]]*"), "<path>"),
    (re.compile(r"(?<![\w./<])(?:/[\w.=@%+-]+){2,}/?"), "<path>"),
    (re.compile(r"\(\S+ executor \S+\)"), "(<host>)"),
    (re.compile(r"\b(?:\d{1,3}(?:\.\d{1,3}){3}|localhost)(?::\d+)?\b"), "<host>"),
)


def scrub(code: grpc.StatusCode, rich: bytes) -> tuple[grpc.StatusCode, str, bytes]:
    """Return code, text and rich status as the user may see them.

    A refusal keeps its sentence and nothing else, and has one code whoever refused. An error without a SQLSTATE, or
    with an internal one, was not written for users: it loses plans and stack traces, paths and hosts.
    """
    status, info = _read(rich)
    state = info.metadata.get("sqlState", "")
    if state == REFUSED:
        return _short(grpc.StatusCode.PERMISSION_DENIED, status.message, info)
    if _is_internal(state):
        return _short(code, mask(status.message), info)
    return code, status.message, rich


def scrub_chain(answer: bytes) -> bytes:
    """Return an answer about an error's causes with the same done to each of them."""
    response = base.FetchErrorDetailsResponse.FromString(answer)
    for error in response.errors:
        error.ClearField("stack_trace")
        if _is_internal(error.spark_throwable.sql_state):
            error.message = mask(error.message)
    return response.SerializeToString()


def mask(text: str) -> str:
    """Return the first line without paths and hosts; what follows it are plans and stack traces."""
    line = text.partition("\n")[0]
    for place, shown in _PLACES:
        line = place.sub(shown, line)
    return line


def _is_internal(state: str) -> bool:
    return not state or state.startswith(_INTERNAL_STATE)


def _read(rich: bytes) -> tuple[Status, ErrorInfo]:
    """Return the status and what it says of the error; nothing where it cannot be read."""
    info = ErrorInfo()
    try:
        status = Status.FromString(rich)
    except DecodeError:
        return Status(), info
    for detail in status.details:
        detail.Unpack(info)  # does nothing where it is something else
    return status, info


def _short(code: grpc.StatusCode, message: str, info: ErrorInfo) -> tuple[grpc.StatusCode, str, bytes]:
    detail = Any()
    metadata = {key: value for key, value in info.metadata.items() if key in _KEPT}
    detail.Pack(ErrorInfo(reason=info.reason, domain=info.domain, metadata=metadata))
    return code, message, Status(code=code.value[0], message=message, details=[detail]).SerializeToString()
