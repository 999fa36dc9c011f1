"""Records the requests of a stock client for the corpus's cases and others: `python -m tests.connect_fuzzer.recorder`.

A request is kept if it has a field that no shorter request of the recording has.
"""

import gc
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import grpc
from google.protobuf.message import Message
from pyspark.sql import functions
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.session import SparkSession
from typing_extensions import override

from headgate.spark.gateway.rpcs import RPCS
from tests.app.server_process import serving
from tests.connect_fuzzer.dictionary import cases
from tests.connect_fuzzer.messages import ANY, RECORDED, Request, line, name_of, pairs, walk
from tests.connect_fuzzer.scene import Scene

PROGRAMS: Final = Path(__file__).with_name("programs.txt")
_OF_A_SESSION: Final = ("session_id", "client_observed_server_side_session_id", "user_context", "operation_id")
_LONGEST: Final = 16 * 1024


class Recorder(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamUnaryClientInterceptor):
    """Records every request that a client sends."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def _keep(self, details: Any, message: Message) -> None:
        path = details.method if isinstance(details.method, str) else details.method.decode()
        copy = RPCS[path].request.FromString(message.SerializeToString())
        for name in _OF_A_SESSION:
            if name in copy.DESCRIPTOR.fields_by_name:
                copy.ClearField(name)
        for each in walk(copy):
            for field, _ in each.ListFields():
                if field.message_type is not None and name_of(field.message_type) == ANY:
                    each.ClearField(field.name)
        self.requests.append(Request(RPCS[path], copy))

    @override
    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        """Record the request and send it."""
        self._keep(client_call_details, request)
        return continuation(client_call_details, request)

    @override
    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        """Record the request and send it."""
        return self.intercept_unary_unary(continuation, client_call_details, request)

    @override
    def intercept_stream_unary(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        """Record each request when it is sent."""
        return continuation(client_call_details, self._kept(client_call_details, request_iterator))

    def _kept(self, details: Any, requests: Iterable[Any]) -> Iterator[Any]:
        for each in requests:
            self._keep(details, each)
            yield each


def needed(requests: Sequence[Request]) -> list[Request]:
    """Return the requests with a field that no shorter request has, ordered by size."""
    covered, found = set[tuple[str, str]](), list[Request]()
    for each in sorted(requests, key=lambda each: (each.message.ByteSize(), line(each))):
        new = set(pairs(each.message)) - covered
        if new and each.message.ByteSize() <= _LONGEST:
            covered |= new
            found.append(each)
    return found


def programs() -> Iterator[str]:
    """Yield the Python programs whose requests are recorded."""
    yield from PROGRAMS.read_text(encoding="utf-8").strip().split("\n\n")[1:]
    for each in cases():
        yield each["statement"] if each["kind"] == "dataframe" else f"spark.sql({each['statement']!r}).collect()"


def record(port: int, token: str) -> list[Request]:
    """Run all programs, each in a session of its own, and return the requests. Errors of Spark are ordinary answers."""
    recorder = Recorder()
    for number, program in enumerate(programs()):
        sys.stdout.write(f"\r{number} programs, {len(recorder.requests)} requests ")
        sys.stdout.flush()
        builder = DefaultChannelBuilder(f"sc://localhost:{port}/;token={token}")
        builder.add_interceptor(recorder)  # pyright: ignore[reportArgumentType]
        spark = SparkSession(builder)
        names = {
            "spark": spark,
            "F": functions,
            "r": spark.range(10),
            "alice": SimpleNamespace(view="v", stream="s", session="x"),
        }
        names |= {"df": spark.table("lake.raw.flights"), "o": spark.table("lake.raw.airlines")}
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(program, names)  # noqa: S102 (the programs are ours)
        with suppress(Exception):
            spark.stop()
    return recorder.requests


def main() -> None:
    """Record on a server that is started for it."""
    gc.disable()  # a session that is garbage-collected ends itself on an arbitrary thread, and may then deadlock
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "data") as server:
        server.until_ready()
        scene = Scene(server, Path(folder) / "data")
        kept = needed(record(scene.port, scene.owner.token))
    RECORDED.write_text("".join(f"{line(each)}\n" for each in kept), encoding="utf-8")
    sys.stdout.write(f"\nkept {len(kept)}\n")


if __name__ == "__main__":
    main()
