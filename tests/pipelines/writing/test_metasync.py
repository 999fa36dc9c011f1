"""Metadata sync to another Iceberg catalog over HTTP: the table is created and replaced there, or refused with a sentence."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from typing_extensions import override

from headgate.pipelines.connections.targets import HttpPlace
from headgate.pipelines.load_errors import EndedError
from headgate.pipelines.writing import metasync
from headgate.pipelines.writing.metasync import SyncError, register_external_table
from tests.egress import open_egress
from tests.pipelines.raw_server import Answering, RawServer, body_of, endless, raw_server

TABLE = "/v1/namespaces/mirror/tables/flights"
METADATA = new_table_metadata(Schema(), UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, "file:/t")


class Other:
    """A catalog with at most one table; it accepts requests with the right key only."""

    def __init__(self) -> None:
        self.location: str | None = None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def place(self, key: str = "right") -> HttpPlace:
        return HttpPlace(f"http://127.0.0.1:{self.server.server_port}", {"X-Key": key}, open_egress().addresses)

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        if path == "/v1/config":
            return 200, {"defaults": {}, "overrides": {}}
        table = {"metadata-location": self.location, "metadata": json.loads(METADATA.model_dump_json())}
        if path == TABLE:
            return (200, table) if self.location else (404, None)
        if path.endswith("/register"):
            if self.location and not body["overwrite"]:
                return 409, None
            self.location = body["metadata-location"]
            return 200, {**table, "metadata-location": self.location}
        return 200, {"namespace": ["mirror"], "properties": {}}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        other = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                known = self.headers["X-Key"] == "right"
                status, said = other.answer(self.path, json.loads(body or b"{}")) if known else (403, None)
                sent = b"" if said is None else json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            do_GET = do_POST = _serve  # noqa: N815 (the server's own names)

            @override
            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        return Handler


@pytest.fixture
def other() -> Iterator[Other]:
    made = Other()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_a_table_is_created_in_the_other_catalog_and_then_replaced(other: Other) -> None:
    for newest in ("file:/t/1.json", "file:/t/2.json"):
        register_external_table(other.place(), "mirror.flights", newest, lambda: False)

        assert other.location == newest


def test_a_refusal_of_the_other_catalog_is_reported(other: Other) -> None:
    with pytest.raises(SyncError, match=r"not registered as `mirror\.flights` in the catalog of the connection"):
        register_external_table(other.place("wrong"), "mirror.flights", "file:/t/1.json", lambda: False)
    assert other.location is None


def registered(server: RawServer) -> None:
    register_external_table(server.place("/tenant-a/iceberg"), "mirror.flights", "file:/t/1.json", lambda: False)


@pytest.mark.parametrize(
    "said",
    [
        b"[" * 1_000_000,
        b'{"defaults":' + b"[" * 900_000,
        b'{"defaults": [1]}',
        b'{"defaults": null}',
        b'{"overrides": 3}',
        b'{"overrides": {"prefix": 3}}',
        b'{"overrides": {"prefix": "\\ud800"}}',
        b'{"overrides": {"prefix": "a\\r\\nX: y"}}',
        json.dumps({"overrides": {"prefix": "a" * 100_000}}).encode(),
        b'{"defaults": ' + b"9" * 5000 + b"}",
        b"\x00\xff",
        b"[]",
        b"",
    ],
    ids=[
        "deep",
        "deep in it",
        "list",
        "null",
        "number",
        "prefix number",
        "prefix half",
        "prefix control",
        "prefix long",
        "long number",
        "no text",
        "no object",
        "empty",
    ],
)
def test_an_invalid_configuration_of_the_other_catalog_is_reported(said: bytes) -> None:
    with (
        raw_server(body_of(said)) as server,
        pytest.raises(
            SyncError, match=r"the configuration that the other catalog returned (cannot be read|does not follow)"
        ),
    ):
        registered(server)
    assert server.targets() == ["GET /tenant-a/iceberg/v1/config"]


@pytest.mark.parametrize("prefix", ["../../../tenant-b/admin", "%2e%2e/%2e%2e/%2e%2e/tenant-b", "..\\..\\..\\tenant-b"])
def test_a_prefix_that_leads_above_the_connections_address_is_refused(prefix: str) -> None:
    config = json.dumps({"overrides": {"prefix": prefix}}).encode()

    with raw_server(body_of(config)) as server, pytest.raises(SyncError, match="outside the address of the connection"):
        registered(server)
    assert server.targets() == ["GET /tenant-a/iceberg/v1/config"]


def test_a_prefix_of_the_overrides_precedes_one_of_the_defaults() -> None:
    config = json.dumps({"defaults": {"prefix": "a"}, "overrides": {"prefix": "b/c?d", "uri": "http://evil.example"}})

    with raw_server(body_of(config.encode())) as server:
        registered(server)
    assert server.targets()[1] == "POST /tenant-a/iceberg/v1/b/c%3Fd/namespaces"


@pytest.mark.parametrize("status", ["500 \x1b]0;pwned\x07 /etc/passwd", "302 pwned", "500"])
def test_a_refusal_is_reported_by_its_status_only(status: str) -> None:
    answering = body_of(b"pwned", "location: http://127.0.0.1/pwned", status=status)

    with raw_server(answering) as server, pytest.raises(SyncError) as raised:
        registered(server)
    said = str(raised.value)
    assert "pwned" not in said
    assert said.isprintable()
    assert server.targets() == ["GET /tenant-a/iceberg/v1/config"]


@pytest.mark.parametrize(
    "answering",
    [
        endless(b"HTTP/1.1 200 OK\r\nx: ", b"y"),
        endless(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", b" "),
    ],
    ids=["headers", "body"],
)
def test_an_endless_answer_ends_with_the_run_and_at_a_deadline(
    answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = threading.Event()
    threading.Timer(0.3, ends.set).start()
    with raw_server(answering) as server:
        with pytest.raises(EndedError):
            register_external_table(server.place(), "mirror.flights", "file:/t/1.json", ends.is_set)
        monkeypatch.setattr(metasync, "_BOUNDS", replace(metasync._BOUNDS, whole=0.3))
        with pytest.raises(SyncError, match="not complete after"):
            registered(server)


def test_an_answer_larger_than_a_mebibyte_is_not_read() -> None:
    with raw_server(body_of(b" " * (1 << 20) + b"{}")) as server, pytest.raises(SyncError, match="larger than"):
        registered(server)
