"""A Spark Connect server that answers at once and records its requests."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyProto
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from pyspark.sql.connect.proto import types_pb2
from typing_extensions import override

from headgate.spark.gateway.protos import base
from headgate.spark.gateway.rpcs import RPCS, Rpc

ANSWERS: dict[str, type[Any]] = {
    "ExecutePlan": base.ExecutePlanResponse,
    "ReattachExecute": base.ExecutePlanResponse,
    "AnalyzePlan": base.AnalyzePlanResponse,
    "Config": base.ConfigResponse,
    "AddArtifacts": base.AddArtifactsResponse,
    "ArtifactStatus": base.ArtifactStatusesResponse,
    "Interrupt": base.InterruptResponse,
    "ReleaseExecute": base.ReleaseExecuteResponse,
    "ReleaseSession": base.ReleaseSessionResponse,
    "FetchErrorDetails": base.FetchErrorDetailsResponse,
    "CloneSession": base.CloneSessionResponse,
}


SERVER_SIDE = "id in the driver"
"""The driver's id of every session."""


@dataclass
class FakeDriver:
    """The driver's state as the gateway reads it; the test changes it."""

    address: str = ""
    name: str = "main"
    token: str = "backend-token"  # noqa: S105 - it opens nothing
    key: bytes = b"k" * 32
    generation: int = 1
    trouble: str = ""
    ready: bool = True


@dataclass
class FakeBackend(grpc.GenericRpcHandler):
    """Records every call. `fail` names the call that fails as in Spark.

    With `held`, a statement sends its first answer and continues when the test sets `go_on`, or when it is interrupted.
    `streams` are the ids of the streaming queries of every session.
    """

    driver: FakeDriver = field(default_factory=FakeDriver)
    calls: list[tuple[str, Any]] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    fail: str = ""
    fail_with: tuple[grpc.StatusCode, str] | None = None
    """Raised instead of an error of Spark: a fault of the connection to Spark."""

    held: bool = False
    held_analyses: bool = False
    """An analysis continues until the test sets `go_on`; as in Spark, an interrupt does not end it."""
    held_statuses: bool = False
    """A request for artifact statuses is answered once the test sets `go_on`."""
    held_configs: bool = False
    """A request for the configuration is answered once the test sets `go_on`."""
    config_seconds: float = 0.0
    """Seconds until each request for the configuration is answered."""
    held_releases: bool = False
    """The release of a session continues until the test sets `go_on`."""
    deaf_to: int = 0
    """The number of interrupts that are answered and have no effect."""
    running: set[str] = field(default_factory=set[str])
    """The statements that are running. A statement continues without its client, as in Spark."""
    go_on: threading.Event = field(default_factory=threading.Event)
    interrupted: set[str] = field(default_factory=set[str])
    plans_wait: bool = False
    """Whether the driver registers a plan only once the test sets `arrive`, so that other calls overtake the plan."""
    arrive: threading.Event = field(default_factory=threading.Event)
    in_transit: set[str] = field(default_factory=set[str])
    registered: set[str] = field(default_factory=set[str])
    """The operations that the driver knows; it interrupts and releases only these."""
    rows: int = 0
    """The number of responses of one MiB that a statement sends; `sent` counts the responses that were taken."""
    sent: int = 0
    details: bool = False
    """Whether a statement sends a schema before its rows, and metrics before its end, as Spark does."""
    streams: list[str] = field(default_factory=list[str])
    die: Callable[[], object] = lambda: None

    def names(self) -> list[str]:
        """Return the names of the calls, in order."""
        return [name for name, _ in self.calls]

    def last(self, name: str) -> Any:
        """Return the latest request of a call."""
        return next(request for called, request in reversed(self.calls) if called == name)

    @override
    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return a handler that records the calls and answers them."""
        rpc = RPCS[handler_call_details.method]

        def take(data: bytes, context: grpc.ServicerContext) -> Any:
            request = rpc.request.FromString(data)
            self.calls.append((rpc.name, request))
            self.metadata.append(dict(context.invocation_metadata()))
            if rpc.name == "Interrupt":
                self._interrupt(request.operation_id)
            if rpc.name == "AnalyzePlan" and self.held_analyses:
                self.go_on.wait()
            if rpc.name == "ArtifactStatus" and self.held_statuses:
                self.go_on.wait()
            if rpc.name == "Config":
                time.sleep(self.config_seconds)
            if rpc.name == "Config" and self.held_configs:
                self.go_on.wait()
            if rpc.name == "ReleaseSession" and self.held_releases:
                self.go_on.wait()
            if rpc.name == self.fail:
                context.abort(*self.fail_with) if self.fail_with else _fail_as_spark(context)
            return request

        return _handler(self, rpc, take)

    def _interrupt(self, operation: str) -> None:
        if self.deaf_to > 0:
            self.deaf_to -= 1
        elif operation not in self.in_transit:
            self.interrupted.add(operation)

    def release(self, request: Any) -> str:
        """Release an operation as Spark does; return its id, or an empty value if Spark does not know it."""
        if request.operation_id not in self.registered:
            return ""
        if request.HasField("release_all"):
            self.registered.discard(request.operation_id)
            self.interrupted.add(request.operation_id)
        return request.operation_id

    def answers(self, request: Any) -> Iterator[Any]:
        """Yield the answers to a statement."""
        operation = request.operation_id
        if self.plans_wait:
            self.in_transit.add(operation)
            self.arrive.wait()
            self.in_transit.discard(operation)
        self.registered.add(operation)
        self.running.add(operation)
        try:
            yield from self._answers(request)
        finally:
            # Spark does not notice that a client has left: the statement continues until it is done or interrupted.
            self._wait(operation)
            self.running.discard(operation)

    def _wait(self, operation: str) -> None:
        while self.held and operation not in self.interrupted and not self.go_on.wait(0.01):
            pass

    def _answers(self, request: Any) -> Iterator[Any]:
        operation = request.operation_id
        yield base.ExecutePlanResponse(session_id=request.session_id, operation_id=operation, response_id="0")
        self._wait(operation)
        if request.DESCRIPTOR.name == "ExecutePlanRequest" and request.plan.command.HasField("checkpoint_command"):
            answer = base.ExecutePlanResponse(session_id=request.session_id, operation_id=operation)
            answer.checkpoint_command_result.relation.relation_id = f"of {operation}"
            yield answer
        if request.DESCRIPTOR.name == "ExecutePlanRequest" and request.plan.command.HasField(_MANAGER):
            answer = base.ExecutePlanResponse(session_id=request.session_id)
            for id in self.streams:
                getattr(answer, f"{_MANAGER}_result").active.active_queries.add().id.id = id
            yield answer
        for _ in range(self.rows):
            if operation in self.interrupted:
                return
            self.sent += 1
            yield base.ExecutePlanResponse(arrow_batch=_MEBIBYTE)
        for index in (1, 2):
            yield base.ExecutePlanResponse(session_id=request.session_id, response_id=str(index))
        if self.details:
            yield from _DETAILED


_MEBIBYTE = base.ExecutePlanResponse.ArrowBatch(data=b"x" * 1024 * 1024)
_SCHEMA = types_pb2.DataType(long=types_pb2.DataType.Long())
_DETAILED = (
    base.ExecutePlanResponse(response_id="3", schema=_SCHEMA),
    base.ExecutePlanResponse(response_id="4", arrow_batch=base.ExecutePlanResponse.ArrowBatch(data=b"x")),
    base.ExecutePlanResponse(response_id="5", metrics=base.ExecutePlanResponse.Metrics()),
    base.ExecutePlanResponse(response_id="6", observed_metrics=[base.ExecutePlanResponse.ObservedMetrics(name="n")]),
    base.ExecutePlanResponse(response_id="7", result_complete=base.ExecutePlanResponse.ResultComplete()),
    base.ExecutePlanResponse(response_id="8", schema=_SCHEMA),
)
_MANAGER = "streaming_query_manager_command"


def _handler(backend: FakeBackend, rpc: Rpc, take: Any) -> Any:
    answer = ANSWERS[rpc.name]

    def unary(data: bytes, context: grpc.ServicerContext) -> bytes:
        request = take(data, context)
        found = {"operation_id": backend.release(request)} if rpc.name == "ReleaseExecute" else {}
        if "server_side_session_id" in answer.DESCRIPTOR.fields_by_name:
            found["server_side_session_id"] = SERVER_SIDE
        return answer(session_id=request.session_id, **found).SerializeToString()

    def stream(data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        for each in backend.answers(take(data, context)):
            yield each.SerializeToString()

    def upload(requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        session = [take(data, context).session_id for data in requests][-1]
        return answer(session_id=session).SerializeToString()

    if rpc.streams_out:
        return grpc.unary_stream_rpc_method_handler(stream)
    return (
        grpc.stream_unary_rpc_method_handler(upload) if rpc.streams_in else grpc.unary_unary_rpc_method_handler(unary)
    )


def _fail_as_spark(context: grpc.ServicerContext) -> None:
    detail = AnyProto()
    detail.Pack(ErrorInfo(reason="org.apache.spark.SparkException", metadata={"errorClass": "SOME_CLASS"}))
    status = Status(code=13, message="[SOME_CLASS] it broke", details=[detail])
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()), ("internal", "x")))
    context.abort(grpc.StatusCode.INTERNAL, "[SOME_CLASS] it broke")


@contextmanager
def fake_backend() -> Iterator[FakeBackend]:
    """Serve until the block ends."""
    backend = FakeBackend()
    server = grpc.server(ThreadPoolExecutor(160), handlers=[backend])
    backend.die = lambda: server.stop(None)
    backend.driver.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield backend
    finally:
        backend.go_on.set()
        backend.arrive.set()
        server.stop(None).wait(5)
