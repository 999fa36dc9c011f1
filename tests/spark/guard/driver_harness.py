"""A guarded driver over a folder of Iceberg tables, and a decision service with a rule that the test sets."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession
from typing_extensions import override

from headgate.control.connections.commands import JdbcAccess
from headgate.control.kernel.names import TYPES
from headgate.control.kernel.operations import choose_action, list_operation_needs
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.sandbox import SandboxLevel
from headgate.sandbox.launch import find_level
from headgate.spark.driver.config import DriverSandbox, DriverSettings
from headgate.spark.driver.database_relay import DatabaseRelay
from headgate.spark.driver.driver import Driver
from headgate.spark.sessions.signature import sign_session, verify_signature
from headgate.spark.toolchain.prepare import Toolchain
from tests.threads import event_loop

Need = Mapping[str, Any]
REFUSED = "42501"
ADMIN = "hgs_admin"
LEVEL = find_level()[0]
IDLE_SECONDS = 5.0
"""Seconds after which the decision service closes an idle connection."""


def activate(session: SparkSession) -> SparkSession:
    """Make the session the active one of this thread, on which the methods of models and the pandas API work."""
    ConnectSession._active_session.session = session
    return session


def everything_to_the_admin(handle: str, _need: Need) -> bool:
    """Allow everything for the admin's handle, and nothing for other handles."""
    return handle == ADMIN


def _expand(need: Need) -> Iterator[Need]:
    """Yield the actions that an operation needs, as under a model that restates none."""
    if "operation" not in need:
        yield need
        return
    for each in list_operation_needs(need["operation"], None):
        names = need["on"][each.place]
        type = TYPES[len(names) - 1]
        yield {"action": choose_action(each, type, None, {"type": need["type"]}), "object": names}


class DecisionService:
    """Answers the guard with `rule`, checks the guard's signature, and records the requests."""

    def __init__(self) -> None:
        self.rule: Callable[[str, Need], bool] = everything_to_the_admin
        self.asked: list[Need] = []
        self.operations: list[str | None] = []
        self.traced: set[str] = set()
        """The principals whose lineage is recorded; `columns` has the lineage that the guard reported."""
        self.columns: list[Any] = []
        self.jdbc_accesses: dict[str, JdbcAccess] = {}
        """The database access of each connection."""
        self._relay = DatabaseRelay()
        if LEVEL is SandboxLevel.FULL:
            self._relay.start(BackgroundTasks())
        self.entered: list[str] = []
        self.is_down = False
        self.key: Callable[[], bytes] = lambda: b""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.ports = (self._server.server_port, *((self._relay.port,) if self._relay.port else ()))
        self.url = f"http://127.0.0.1:{self._server.server_port}/guard/v1/decide"

    def names(self) -> set[str]:
        """Return the requested privileges as `action name`, without the `discover` of each table that Spark loads."""
        needs = (need for need in self.asked if need["action"] != "discover")
        return {
            f"{need['action']} {'.'.join(need.get('object', ())) or need.get('path') or need.get('connection')}"
            for need in needs
        }

    def close(self) -> None:
        """Stop the server and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._relay.stop()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = IDLE_SECONDS

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.answer(self, body)

            @override
            def log_message(self, format: str, *args: Any) -> None:
                """Write no log."""

        return Handler

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        """Answer one request of the guard."""
        handle = request.headers["Authorization"].removeprefix("Bearer ")
        at, signature = int(request.headers["X-Headgate-Time"]), request.headers["X-Headgate-Signature"]
        signed = verify_signature(self.key(), "POST", request.path, at, handle, body, signature=signature, now=at)
        question = json.loads(body)
        said = self._said(handle, question)
        said = said if signed else {"allowed": False, "message": "this is not signed"}
        answer = json.dumps(said).encode()
        request.send_response(500 if self.is_down else 200)
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)

    def _said(self, handle: str, question: Any) -> dict[str, Any]:
        if "connection" in question:
            return self._entrance(handle, question)
        if "columns" in question:
            self.columns.append(question)
            return {}
        return self._decision(handle, question)

    def _decision(self, handle: str, question: Any) -> dict[str, Any]:
        needs = [each for need in question["needs"] for each in _expand(need)]
        self.asked += needs
        self.operations.append(question["operation"])
        allowed = all(self.rule(handle, need) for need in needs)
        said = {"allowed": allowed, "revision": 1, "principal": handle, "message": f"{handle} may not do that"}
        return {**said, "traced": handle in self.traced}

    def _entrance(self, handle: str, question: Any) -> dict[str, Any]:
        connection = question["connection"]
        self.entered.append(connection)
        need = {"action": "connection.use", "connection": connection}
        if not self.rule(handle, need):
            return {"allowed": False, "message": f"{handle} may not use that"}
        access = self.jdbc_accesses[connection]
        if self._relay.port:
            access = self._relay.route(access, lambda: self.rule(handle, need))
        return {"allowed": True, "url": access.url, "properties": dict(access.properties)}


class DriverHarness:
    """The driver, its decision service and the folder of the lake."""

    def __init__(self, driver: Driver, decisions: DecisionService, warehouse: Path) -> None:
        self.driver = driver
        self.decisions = decisions
        self.warehouse = warehouse
        self._sessions: list[SparkSession] = []

    def session(self, handle: str | None, user: str = "user") -> SparkSession:
        """Open a session as the gateway does: for a user, and signed for the handle, or unsigned if it is None."""
        port = self.driver.address.rpartition(":")[2]
        spark = SparkSession.builder.remote(f"sc://localhost:{port}/;token={self.driver.token};user_id={user}").create()
        if handle:
            spark.conf.set("headgate.principal.token", sign_session(self.driver.key, handle))
        self._sessions.append(spark)
        return spark

    @contextmanager
    def end_sessions(self) -> Iterator[None]:
        """End the sessions that the block opens, because each takes memory of the driver."""
        earlier = len(self._sessions)
        try:
            yield
        finally:
            for spark in self._sessions[earlier:]:
                spark.client.set_retry_policies([])  # the driver may have ended
                spark.stop()

    def close(self) -> None:
        """Close the clients.

        They are kept until now, because PySpark deadlocks if the garbage collector ends one inside a call.
        """
        for spark in self._sessions:
            spark.client.close()

    def log(self) -> str:
        """Return the driver's log."""
        return (self.warehouse.parent / "logs" / "driver.log").read_text(encoding="utf-8", errors="replace")

    def files(self) -> list[str]:
        """Return every file of the lake: a refused statement must leave this list unchanged."""
        return sorted(str(path) for path in self.warehouse.rglob("*"))

    def fill(self) -> None:
        """Create the tables of the tests."""
        for schema in ("raw", "trusted", "secret"):
            (self.warehouse / schema).mkdir(parents=True)
        admin = self.session(ADMIN)
        admin.sql("CREATE TABLE lake.raw.flights AS SELECT 'AA' AS carrier, 2012 AS year").collect()
        admin.sql("CREATE TABLE lake.trusted.delays AS SELECT 'AA' AS carrier, 1.0D AS avg_delay").collect()
        admin.sql("CREATE TABLE lake.secret.salaries AS SELECT 'eve' AS emp, 900.0D AS amount").collect()


@contextmanager
def world(toolchain: Toolchain, folder: Path, *, is_filled: bool = True, **changes: Any) -> Iterator[DriverHarness]:
    """Run a driver over a lake of its own until the block ends. `changes` are settings of the driver."""
    decisions = DecisionService()
    made_with = settings(toolchain, folder, decisions.url)
    sandbox = replace(made_with.sandbox, connects=decisions.ports)
    driver = Driver(replace(made_with, **{"sandbox": sandbox, **changes}))
    decisions.key = lambda: driver.key
    with event_loop() as run:
        run(driver.start())
        try:
            made = DriverHarness(driver, decisions, folder / "warehouse")
            if is_filled:
                made.fill()
            yield made
            made.close()
        finally:
            run(driver.stop())
            decisions.close()


def settings(toolchain: Toolchain, folder: Path, decision_url: str) -> DriverSettings:
    """Return the settings of a driver over Iceberg tables in a folder, without a REST catalog."""
    lake = "spark.sql.catalog.lake"
    return DriverSettings(
        tools=toolchain,
        log=folder / "logs" / "driver.log",
        scratch=folder / "scratch",
        decision_url=decision_url,
        sandbox=DriverSandbox(
            level=LEVEL,
            # The other folders of the test belong to its connections.
            writes=(folder, folder.parent),
            forbidden=(str(Path.home()),),
            connects=(urlsplit(decision_url).port or 0,),
        ),
        conf={
            f"{lake}.catalog-impl": "org.apache.iceberg.hadoop.HadoopCatalog",
            f"{lake}.warehouse": str(folder / "warehouse"),
            f"{lake}.io-impl": "io.headgate.guard.files.GuardedFileIO",
            f"{lake}.headgate.location": str(folder / "warehouse"),
        },
    )
