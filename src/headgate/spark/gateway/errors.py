"""What the gateway answers instead of Spark, and how a client is told."""

from typing import Final

import grpc
from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.control.text.error_text import REFUSED_STATE
from headgate.spark.sql.statements import DRIVER_LOST, NOT_CONNECTED, STATEMENT_LOST

STATUS_KEY: Final = "grpc-status-details-bin"
_SHOWN_AS: Final = '["org.apache.spark.sql.AnalysisException"]'
"""PySpark shows a class that it does not know as an `UnknownException`."""
_LONGEST: Final = 500
"""The message travels in gRPC trailers, which clients limit to 8 KiB, and may quote what the user sent."""


class GatewayError(Exception):
    """A call that ends at the gateway: its status code, and one sentence for the user."""

    code: grpc.StatusCode = grpc.StatusCode.INTERNAL
    sqlstate: str = ""

    def __init__(self, message: str) -> None:
        self.message = message if len(message) <= _LONGEST else message[:_LONGEST] + " ..."
        super().__init__(self.message)


class RequestRefusedError(GatewayError):
    """Headgate does not let this pass."""

    code = grpc.StatusCode.PERMISSION_DENIED
    sqlstate = REFUSED_STATE


class TooLargeError(RequestRefusedError):
    """The request holds more than Headgate passes on."""

    code = grpc.StatusCode.INVALID_ARGUMENT
    sqlstate = "54000"


class TooComplexError(TooLargeError):
    """The request has too many parts, or is nested too deeply."""

    sqlstate = "54001"


class UnauthenticatedError(GatewayError):
    """No caller is known by what the call presents."""

    code = grpc.StatusCode.UNAUTHENTICATED


class UnknownTokenError(UnauthenticatedError):
    """No caller is known by this token in the organization that the connection names."""

    def __init__(self) -> None:
        super().__init__(
            "the token is not valid, or not for the organization that the connection names; check the name, or ask for a new token"
        )


class InvalidRequestError(GatewayError):
    """The bytes are not a request of Spark Connect."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class NoSessionError(GatewayError):
    """The session was begun with an earlier gateway. Clients know Spark's name for that, and send a statement again."""

    def __init__(self) -> None:
        super().__init__("[INVALID_HANDLE.SESSION_NOT_FOUND] the session has ended; begin a new one")


class NoOperationError(GatewayError):
    """The operation has ended, or never reached the driver. Clients know Spark's name for that."""

    def __init__(self) -> None:
        super().__init__("[INVALID_HANDLE.OPERATION_NOT_FOUND] the operation has ended; send the statement again")


class UnavailableError(GatewayError):
    """There is no driver to ask at the moment."""

    code = grpc.StatusCode.UNAVAILABLE
    sqlstate = NOT_CONNECTED


class DriverGoneError(UnavailableError):
    """The start of the driver that this was sent to has been replaced by a later one."""


class StatementLostError(GatewayError):
    """The driver ended while it ran a statement. Clients do not repeat a call that ends with this code by themselves."""

    code = grpc.StatusCode.ABORTED
    sqlstate = DRIVER_LOST

    def __init__(self) -> None:
        super().__init__(STATEMENT_LOST)


class DriverAnswerError(GatewayError):
    """The driver's answer is not one that Spark gives: it would keep the gateway from all other calls."""

    def __init__(self) -> None:
        super().__init__(
            "the Spark driver sent a larger answer than Spark gives; ask the operator to restart the driver"
        )


class ExhaustedError(GatewayError):
    """The caller or the gateway holds as many sessions, operations or calls as it may."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


def status_details(error: GatewayError) -> bytes:
    """Return the error as the rich status that PySpark shows as the sentence alone."""
    status = Status(code=error.code.value[0], message=error.message)
    if error.sqlstate:
        metadata = {"sqlState": error.sqlstate, "classes": _SHOWN_AS}
        detail = Any()
        detail.Pack(ErrorInfo(reason="refused", domain="headgate", metadata=metadata))
        status.details.append(detail)
    return status.SerializeToString()
