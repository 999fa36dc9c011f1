"""Refusals for Scala and Java clients, such as the JDBC driver: the message names the error condition and the SQLSTATE.

These clients look up the SQLSTATE of a condition in Spark's own list, and do not read the one that the server sends.
"""

from collections.abc import Iterable
from typing import Final

from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.control.text.error_text import REFUSED_CONDITION, REFUSED_STATE
from headgate.spark.gateway.error_scrubber import status_sqlstate
from headgate.spark.gateway.errors import STATUS_KEY

_USER_AGENT: Final = "user-agent"
_GRPC_OF_JAVA: Final = "grpc-java"
_SHOWN_AS: Final = {
    "classes": '["org.apache.spark.SparkException"]',
    "errorClass": REFUSED_CONDITION,
    "sqlState": REFUSED_STATE,
}
"""These clients replace an error of a more special class by an internal error, because Spark's list does not have the condition."""

Trailers = tuple[tuple[str, bytes], ...]


def is_jvm_client(metadata: Iterable[tuple[str, str | bytes]]) -> bool:
    """Return whether a call has the user agent of a Scala or Java client. Clients claim it, so only the wording depends on it."""
    return any(key == _USER_AGENT and _GRPC_OF_JAVA in str(value) for key, value in metadata)


def name_state(details: str, trailers: Trailers) -> tuple[str, Trailers]:
    """Return an error's message and trailers; if it is a refusal, with condition and SQLSTATE in Spark's own format."""
    rich = dict(trailers).get(STATUS_KEY, b"")
    if status_sqlstate(rich) != REFUSED_STATE:
        return details, trailers
    info, detail = ErrorInfo(reason="refused", domain="headgate", metadata=_SHOWN_AS), Any()
    detail.Pack(info)
    message = f"[{REFUSED_CONDITION}] {details} SQLSTATE: {REFUSED_STATE}"
    status = Status(code=Status.FromString(rich).code, message=message, details=[detail])
    return message, ((STATUS_KEY, status.SerializeToString()),)
