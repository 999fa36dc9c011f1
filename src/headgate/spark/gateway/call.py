"""The lifecycle of one call: its caller and driver while it runs, and its status, log line and metrics at the end."""

import asyncio
import logging
import re
import time
import uuid
from dataclasses import dataclass
from typing import Any, Final, Self

import grpc
import grpc.aio

from headgate.facts.caller import Caller
from headgate.spark.authority import PresentedCredential
from headgate.spark.gateway.driver_channel import DriverBackend
from headgate.spark.gateway.errors import STATUS_KEY, GatewayError, UnavailableError, status_details
from headgate.spark.gateway.jvm_clients import is_jvm_client, name_state
from headgate.spark.gateway.metrics import GatewayCounts


@dataclass(frozen=True, slots=True)
class ActiveCall:
    """An authenticated call: its credential, its caller, and the connection to the driver that serves it."""

    credential: PresentedCredential
    caller: Caller
    backend: DriverBackend


CallContext = grpc.aio.ServicerContext[Any, Any]
log = logging.getLogger(__name__)

REQUEST_ID: Final = "x-request-id"
_OFTEN: Final = frozenset({"ReleaseExecute", "ReattachExecute"})
"""Calls that clients send by themselves, several times for each statement; they are logged at debug level."""
_FITS: Final = re.compile(r"[A-Za-z0-9_.:-]{1,100}")


class CallLifecycle:
    """Context manager around one call. `call` is set once the caller is authenticated."""

    def __init__(self, name: str, context: CallContext, counts: GatewayCounts) -> None:
        self._name = name
        self._context = context
        self._counts = counts
        self._began = time.monotonic()
        self._status = grpc.StatusCode.OK
        self._opening: asyncio.Future[None] | None = None
        self.call: ActiveCall | None = None

    async def write(self, message: bytes) -> None:
        """Send a message to the client."""
        if self._opening is None:
            # gRPC sends the headers with the first message. If the call is cancelled meanwhile, it would send them again with
            # the status, and fail: the client would wait without an end.
            self._opening = asyncio.ensure_future(self._context.send_initial_metadata(()))
            self._opening.add_done_callback(retrieve_exception)
        await asyncio.shield(self._opening)
        await self._context.write(message)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await self._end(error)
        finally:
            self._tell()

    async def _end(self, error: BaseException | None) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._status = grpc.StatusCode.CANCELLED
            return
        try:
            if isinstance(error, grpc.aio.AioRpcError) and self.call is not None:
                await self._abort(*self.call.backend.explain(error))
        except UnavailableError as unavailable:
            error = unavailable
        if isinstance(error, GatewayError):
            await self._abort(error.code, error.message, ((STATUS_KEY, status_details(error)),))
        elif error is not None:
            self._status = grpc.StatusCode.UNKNOWN

    async def _abort(self, code: grpc.StatusCode, details: str, trailers: tuple[tuple[str, bytes], ...]) -> None:
        self._status = code
        if is_jvm_client(self._context.invocation_metadata() or ()):
            details, trailers = name_state(details, trailers)
        if self._opening is not None:
            await asyncio.wait((self._opening,))
        await self._context.abort(code, details, trailers)

    def _tell(self) -> None:
        seconds = time.monotonic() - self._began
        self._counts.count_call(self._name, self._status.name, seconds)
        level = logging.DEBUG if self._name in _OFTEN else logging.INFO
        if not log.isEnabledFor(level):
            return
        caller = self.call.caller if self.call else None
        fields = {
            "request": _request_id(self._context),
            "call": self._name,
            "status": self._status.name,
            "ms": round(seconds * 1000, 1),
            "principal": caller.principal if caller else None,
        }
        log.log(level, "answered", extra={"fields": fields})


def retrieve_exception(done: "asyncio.Future[Any]") -> None:
    """Retrieve the exception of a task for which no call waits any more, so that asyncio does not log it."""
    if not done.cancelled():
        done.exception()


def _request_id(context: CallContext) -> str:
    """Return the request id that the client sent, if it is safe to log, or a new one."""
    given = next((value for key, value in context.invocation_metadata() or () if key == REQUEST_ID), "")
    return given if isinstance(given, str) and _FITS.fullmatch(given) else str(uuid.uuid4())
