"""Headgate's errors for Scala and Java clients, such as the JDBC driver: the message names the error condition and the SQLSTATE.

These clients look up the SQLSTATE of a condition in Spark's own list, and do not read the one that the server sends.
"""

from collections.abc import Iterable
from typing import Final

from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.control.text.error_text import REFUSED_CONDITION, REFUSED_STATE
from headgate.spark.gateway.error_scrubber import read_status
from headgate.spark.gateway.errors import STATUS_KEY

_USER_AGENT: Final = "user-agent"
_GRPC_OF_JAVA: Final = "grpc-java"
_OWN_CONDITION: Final = "HEADGATE_"
_SHOWN_AS: Final = '["org.apache.spark.SparkException"]'
"""These clients replace an error of a more special class by an internal error, because Spark's list does not have the condition."""

Trailers = tuple[tuple[str, bytes], ...]


def is_jvm_client(metadata: Iterable[tuple[str, str | bytes]]) -> bool:
    """Return whether a call has the user agent of a Scala or Java client. Clients claim it, so only the wording depends on it."""
    return any(key == _USER_AGENT and _GRPC_OF_JAVA in str(value) for key, value in metadata)


def name_state(details: str, trailers: Trailers) -> tuple[str, Trailers]:
    """Return an error's message and trailers; if it is Headgate's, with condition and SQLSTATE in Spark's own format."""
    status, info = read_status(dict(trailers).get(STATUS_KEY, b""))
    state, condition = info.metadata.get("sqlState", ""), info.metadata.get("errorClass", "")
    if not state or (condition and not condition.startswith(_OWN_CONDITION)):
        return details, trailers
    if state == REFUSED_STATE:
        condition = REFUSED_CONDITION
    metadata = {"classes": info.metadata.get("classes", "[]"), "sqlState": state}
    message = f"{details} SQLSTATE: {state}"
    if condition:
        metadata |= {"classes": _SHOWN_AS, "errorClass": condition}
        message = f"[{condition}] {message}"
    detail = Any()
    detail.Pack(ErrorInfo(reason=info.reason, domain=info.domain, metadata=metadata))
    return message, ((STATUS_KEY, Status(code=status.code, message=message, details=[detail]).SerializeToString()),)
