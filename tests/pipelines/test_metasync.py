"""Telling another Iceberg catalog of a table, over HTTP: made there, replaced there, and refused with a sentence."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from headgate.pipelines.metasync import SyncError, register
from headgate.pipelines.place import HttpPlace
from tests.egress import open_egress

TABLE = "/v1/namespaces/mirror/tables/flights"
METADATA = new_table_metadata(Schema(), UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, "file:/t")


class Other:
    """A catalog that has at most one table, and takes it from who shows the right key."""

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

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        return Handler


@pytest.fixture
def other() -> Iterator[Other]:
    made = Other()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_makes_the_table_there_and_replaces_it(other: Other) -> None:
    for newest in ("file:/t/1.json", "file:/t/2.json"):
        register(other.place(), "mirror.flights", newest, lambda: False)

        assert other.location == newest


def test_says_that_the_other_did_not_take_it(other: Other) -> None:
    with pytest.raises(SyncError, match=r"the other catalog did not take `mirror\.flights`"):
        register(other.place("wrong"), "mirror.flights", "file:/t/1.json", lambda: False)
    assert other.location is None
