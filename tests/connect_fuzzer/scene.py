"""A server with marked tables, a user who works with them, and users without privileges on them."""

import secrets
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import grpc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from headgate.spark.gateway.protos import base
from headgate.spark.gateway.rpcs import EXECUTE_PLAN
from headgate.spark.sql.client import connect
from tests.app.server_process import Serving, until
from tests.journeys.test_sql_on_spark import Person
from tests.spark.gateway.hostile_client import RawClient, bearer

_TABLES: Final = {
    "raw.flights": "SELECT '{m}' AS carrier, {n} AS flight, '{m}' AS dest, {n} AS year FROM range(40)",
    "raw.airlines": "SELECT '{m}' AS carrier, '{m}' AS name",
    "trusted.delays": "SELECT '{m}' AS carrier, {n} AS avg_delay",
    "secret.salaries": "SELECT '{m}' AS emp, {n} AS amount, 1 AS `{m}`",
}
_OPEN: Final = "SELECT 'AA' AS carrier, id AS flight, 'JFK' AS dest, 2012 AS year FROM range(40)"


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error in the other user's work, with the begin and the end of the failed round."""

    text: str
    began: float
    ended: float
    may_be_of_outage: bool = True
    """Whether an outage of Spark can cause it. A wrong answer and a round that does not end always count."""

    @classmethod
    def of(cls, error: BaseException, began: float) -> "Trouble":
        """Return the trouble of a round that has just ended with an error."""
        is_wrong = isinstance(error, AssertionError | pytest.fail.Exception)
        text = f"{type(error).__name__}: {error}"[:2000]
        return cls(text, began, time.monotonic(), may_be_of_outage=not is_wrong)


def forms(marker: str, number: int) -> Sequence[bytes]:
    """Return the marks as an answer may contain them: the text, reversed or in hexadecimal digits, and the number."""
    text = marker.encode()
    return text, text[::-1], text.hex().encode(), str(number).encode(), number.to_bytes(8, "little")


class Scene:
    """The server's tables and users.

    A text and a number mark the rows; the text also marks the comments and a column of the tables that only `vic` may
    read.
    """

    def __init__(self, server: Serving, data: Path) -> None:
        self.server = server
        self.port = int(server.health()["spark_port"])
        self.marker = f"marked{secrets.token_hex(8)}"
        self.number = 2**61 + secrets.randbelow(2**60)
        self.owner = Person(server, (data / "owner.token").read_text(encoding="utf-8").strip())
        for name in ("raw", "trusted", "secret", "open"):
            self._post("/databases", name=name)
        for name, query in (*_TABLES.items(), ("open.w", _OPEN)):
            marked = query.format(m=self.marker, n=self.number)
            self.owner.rows(f"CREATE TABLE lake.{name} COMMENT '{self._text(name)}' AS {marked}")
        self.owner.rows("CREATE VIEW lake.trusted.v AS SELECT carrier FROM lake.raw.flights")
        self.vic, self.ed, self.nina = (self._person(name) for name in ("vic", "ed", "nina"))
        for database in ("raw", "trusted", "secret"):
            self._post("/assignments", subject="vic", role="viewer", resource=f"lake.{database}")
        self._post("/assignments", subject="ed", role="editor", resource="lake.open")

    @property
    def secrets(self) -> Sequence[bytes]:
        """The marks in the forms that an answer may contain."""
        return forms(self.marker, self.number)

    def _text(self, table: str) -> str:
        return "" if table.startswith("open.") else self.marker

    def _person(self, name: str) -> Person:
        self._post("/users", name=name)
        return Person(self.server, self._post("/tokens", principal=name)["token"])

    def _post(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self.owner.http.post(path, json=body)
        assert answer.is_success, answer.text
        return dict(answer.json()) if answer.content else {}


class Work:
    """The work of the user who may read the marked rows: it runs until it is stopped, and records errors.

    One more session stays open, with a view, cached rows, and an operation whose results have not been read.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._open = connect(scene.port, scene.vic.token)
        self._client = RawClient(f"127.0.0.1:{scene.port}", bearer(scene.vic.token))
        self.rounds = 0
        self.troubles: list[Trouble] = []
        self._began = time.monotonic()
        """The begin of the running round."""
        self.operation_id = str(uuid.uuid4())

    @property
    def session_id(self) -> str:
        """The id of the session that stays open."""
        return self._open.session_id

    def __enter__(self) -> Self:
        """Start, and return after the first round, so that there is data to find."""
        _view(self._open, self._scene.marker)
        self._open.table("lake.secret.salaries").persist().collect()
        options = [{"reattach_options": {"reattachable": True}}]
        request = read_salaries(session_id=self.session_id, operation_id=self.operation_id, request_options=options)
        assert self._client.send(EXECUTE_PLAN.name, [request]).code is grpc.StatusCode.OK
        self._thread.start()
        until(lambda: self.rounds, lambda: f"no round of the other user's work ends: {self.troubles}")
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, unless stopped before."""
        self.stop()

    def stop(self) -> None:
        """Stop after the running round, and close the session that stays open."""
        self._stopped.set()
        self._thread.join(120)
        if self._thread.is_alive():
            self.troubles.append(Trouble("a round does not end", self._began, time.monotonic(), may_be_of_outage=False))
        with suppress(Exception):
            self._open.stop()
        self._client.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._began = time.monotonic()
            try:
                self._round()
                self.rounds += 1
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 (each is a finding)
                self.troubles.append(Trouble.of(error, self._began))
                time.sleep(1)

    def _round(self) -> None:
        spark = connect(self._scene.port, self._scene.vic.token)
        try:
            for step in STEPS:
                step(spark, self._scene.marker)
        finally:
            spark.stop()


def read_salaries(**fields: Any) -> bytes:
    """Return the request that reads marked rows."""
    plan: Any = {"root": {"read": {"named_table": {"unparsed_identifier": "lake.secret.salaries"}}}}
    return base.ExecutePlanRequest(plan=plan, **fields).SerializeToString()


def _rows(spark: SparkSession, marker: str) -> None:
    for table in _TABLES:
        assert marker in str(spark.sql(f"SELECT * FROM lake.{table}").collect())


def _frame(spark: SparkSession, marker: str) -> None:
    assert spark.table("lake.raw.flights").where(f"carrier = '{marker}'").groupBy("dest").count().collect()


def _view(spark: SparkSession, marker: str) -> None:
    spark.sql(f"CREATE OR REPLACE TEMP VIEW mine AS SELECT '{marker}' AS mark, * FROM lake.raw.airlines").collect()
    assert marker in str(spark.table("mine").collect())


def _cached(spark: SparkSession, marker: str) -> None:
    frame = spark.table("lake.secret.salaries").persist()
    assert marker in str(frame.collect())
    frame.unpersist()


def _local(spark: SparkSession, marker: str) -> None:
    assert marker in str(spark.createDataFrame([(marker, n) for n in range(20)], "mark STRING, n INT").collect())


def _setting(spark: SparkSession, _: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"


def _failure(spark: SparkSession, marker: str) -> None:
    try:
        spark.sql(f"SELECT raise_error('{marker}')").collect()
    except PySparkException as error:
        if marker not in str(error):
            raise
    else:
        pytest.fail("`raise_error` raises no error")


STEPS: Final[tuple[Callable[[SparkSession, str], None], ...]] = (
    _rows,
    _frame,
    _view,
    _cached,
    _local,
    _setting,
    _failure,
)
