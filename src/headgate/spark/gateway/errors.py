"""Errors that the gateway itself returns to a client, and their encoding as a gRPC status."""

from typing import Final

import grpc
from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.control.text.error_text import REFUSED_STATE
from headgate.spark.sql.statements import DRIVER_LOST, NOT_CONNECTED, STATEMENT_LOST

STATUS_KEY: Final = "grpc-status-details-bin"
_SHOWN_AS: Final = '["org.apache.spark.sql.AnalysisException"]'
"""The class that PySpark shows: it shows a class that it does not know as an `UnknownException`."""
_LONGEST: Final = 500
"""The limit of characters of a message: it is sent in gRPC trailers, which clients limit to 8 KiB, and may quote user input."""


class GatewayError(Exception):
    """A call that fails at the gateway: its status code, and one sentence for the user."""

    code: grpc.StatusCode = grpc.StatusCode.INTERNAL
    sqlstate: str = ""

    def __init__(self, message: str) -> None:
        self.message = message if len(message) <= _LONGEST else message[:_LONGEST] + " ..."
        super().__init__(self.message)


class RequestRefusedError(GatewayError):
    """The policy of Headgate refuses the request."""

    code = grpc.StatusCode.PERMISSION_DENIED
    sqlstate = REFUSED_STATE


class TooLargeError(RequestRefusedError):
    """The request is larger than the gateway accepts."""

    code = grpc.StatusCode.INVALID_ARGUMENT
    sqlstate = "54000"


class TooComplexError(TooLargeError):
    """The request has too many parts, or is nested too deeply."""

    sqlstate = "54001"


class UnauthenticatedError(GatewayError):
    """The call has no valid credential."""

    code = grpc.StatusCode.UNAUTHENTICATED


class UnknownTokenError(UnauthenticatedError):
    """The token is unknown in the organization that the connection names."""

    def __init__(self) -> None:
        super().__init__(
            "the token is not valid, or not for the organization that the connection names; "
            "check the name of the organization, or create a new token"
        )


class InvalidRequestError(GatewayError):
    """The request is malformed: its bytes are not a valid request of Spark Connect."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class NoSessionError(GatewayError):
    """The session is unknown: an earlier gateway opened it. Clients recognize Spark's error condition and resend the statement."""

    def __init__(self) -> None:
        super().__init__(
            "[INVALID_HANDLE.SESSION_NOT_FOUND] the Spark session is unknown or closed; create a new one with `SparkSession.builder.remote(...).create()`"
        )


class NoOperationError(GatewayError):
    """The operation has finished, or never reached the driver. Clients recognize Spark's error condition."""

    def __init__(self) -> None:
        super().__init__(
            "[INVALID_HANDLE.OPERATION_NOT_FOUND] the operation has finished, or never reached the Spark driver; "
            "check what it has changed before you run the statement again"
        )


class UnavailableError(GatewayError):
    """No driver is available at the moment."""

    code = grpc.StatusCode.UNAVAILABLE
    sqlstate = NOT_CONNECTED


class DriverGoneError(UnavailableError):
    """The driver process of the call has been replaced by a later start of the driver."""


class StatementLostError(GatewayError):
    """The driver process ended while it ran a statement. Clients do not retry a call with this code by themselves."""

    code = grpc.StatusCode.ABORTED
    sqlstate = DRIVER_LOST

    def __init__(self) -> None:
        super().__init__(STATEMENT_LOST)


class DriverAnswerError(GatewayError):
    """The driver's response is larger than Spark's: parsing it would block all other calls of the gateway."""

    def __init__(self) -> None:
        super().__init__(
            "the Spark driver sent a response that is larger than Spark's limit; ask the operator to restart the Spark driver"
        )


class ExhaustedError(GatewayError):
    """A limit is reached: of the sessions, operations, calls or bytes of the caller, or of the gateway."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


def status_details(error: GatewayError) -> bytes:
    """Return the error as a rich status, of which PySpark shows only the message."""
    status = Status(code=error.code.value[0], message=error.message)
    if error.sqlstate:
        metadata = {"sqlState": error.sqlstate, "classes": _SHOWN_AS}
        detail = Any()
        detail.Pack(ErrorInfo(reason="refused", domain="headgate", metadata=metadata))
        status.details.append(detail)
    return status.SerializeToString()
