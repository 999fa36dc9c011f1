"""Alice, who holds everything and is at work while others try to be her."""

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Self

from pyspark.sql.connect import proto
from pyspark.sql.connect.session import SparkSession

from headgate.app.server import Server
from headgate.spark.gateway.revocation_watch import REVOCATION_CHECK_SECONDS
from headgate.spark.sql.client import connect
from tools.bypass_corpus.cases import Case

logging.getLogger("pyspark.sql.connect.logging").setLevel(logging.CRITICAL)  # ending a session early is no news
_kept: list[SparkSession] = []
"""A session that is collected ends itself on whatever thread that is, and may then wait for itself."""
_HEARD = REVOCATION_CHECK_SECONDS + 1.0
"""Seconds after which the gateway has told what was used."""
_READ = "SELECT emp FROM hers"
_HERS = "mallory"
"""What stands in every answer of hers, and in nobody else's."""


class VictimSession:
    """A live session of hers, with a temporary view over what only she may read.

    Where the case names an operation of hers, there is a question half answered, too, which goes on by itself; else
    whether her session was used at all is watched.
    """

    def __init__(self, server: Server, token: str, case: Case) -> None:
        self._server = server
        self._spark = connect(server.gateway_port, token)
        _kept.append(self._spark)
        self._spark.table("lake.secret.salaries").createOrReplaceTempView("hers")
        self._operation = self._leave_unread() if "operation_id" in case.statement else ""
        self._used = self._uses()

    def __enter__(self) -> Self:
        """She is at work already."""
        return self

    def __exit__(self, *_: object) -> None:
        """End her session."""
        self._spark.stop()

    def seen(self) -> dict[str, str]:
        """Return what somebody else may have learned of her: ids, and nothing that proves to be her."""
        return {
            "user_id": str(self._server.deployment.home.directory.principal("alice")),
            "session_id": self._spark.session_id,
            "operation_id": self._operation,
        }

    def harm(self, answer: str) -> str:
        """Return how her session was used or harmed since she began to wait; empty if it was not."""
        if _HERS in answer:
            return "an answer was hers"
        if not self._operation and self._uses() != self._used:
            return "a request came in her session"
        return next((wrong for asked in self._questions() if (wrong := _wrong(asked))), "")

    def _questions(self) -> Iterator[Callable[[], object]]:
        if self._operation:
            yield self._read_on
        yield lambda: self._spark.sql(_READ).collect()

    def _leave_unread(self) -> str:
        """Ask for something whose answer stays on the server; return the operation's id."""
        client = self._spark.client
        operation = str(uuid.uuid4())
        request = client._execute_plan_request_with_metadata(operation_id=operation)  # noqa: SLF001 (she knows her id)
        request.plan.root.sql.query = _READ
        request.request_options.add().reattach_options.reattachable = True
        list(client._stub.ExecutePlan(request, metadata=client._builder.metadata()))  # noqa: SLF001 (the same)
        return operation

    def _read_on(self) -> object:
        """Return what she left unread."""
        client = self._spark.client
        request = proto.ReattachExecuteRequest(session_id=self._spark.session_id, operation_id=self._operation)
        return list(client._stub.ReattachExecute(request, metadata=client._builder.metadata()))  # noqa: SLF001 (the same)

    def _uses(self) -> list[float]:
        """When each session of hers was used last: the gateway tells of every use, a moment later."""
        time.sleep(_HEARD)
        deployment = self._server.deployment
        sessions = self._server._side.sparks.of(deployment.home).sessions._sessions  # noqa: SLF001 (only this check may)
        hers = deployment.home.directory.principal("alice")
        return [each.used for each in list(sessions.values()) if each.caller.principal == hers]


def _wrong(asked: Callable[[], object]) -> str:
    try:
        answer = repr(asked())
    except Exception as error:  # noqa: BLE001 (an answer of gRPC's is none of PySpark's errors)
        return f"her session does not answer as before: {error}"
    return "" if _HERS in answer else "her session does not answer as before"
