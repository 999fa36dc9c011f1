"""The session of alice, a user with all privileges; the spoofing cases try to impersonate her."""

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

logging.getLogger("pyspark.sql.connect.logging").setLevel(logging.CRITICAL)  # a session that ends early is expected
_kept: list[SparkSession] = []
"""References to the sessions: a garbage-collected session closes itself in the current thread, and may then wait for itself."""
_HEARD = REVOCATION_CHECK_SECONDS + 1.0
"""Seconds after which the gateway has reported which sessions were used."""
_READ = "SELECT emp FROM hers"
_HERS = "mallory"
"""A text that is in every result of alice, and in no result of another user."""


class VictimSession:
    """An active session of alice, with a temporary view of rows that only she may read.

    If the case uses the id of an operation, the session also has an operation with unread results; otherwise every use of
    the session is detected.
    """

    def __init__(self, server: Server, token: str, case: Case) -> None:
        self._server = server
        self._spark = connect(server.gateway_port, token)
        _kept.append(self._spark)
        self._spark.table("lake.secret.salaries").createOrReplaceTempView("hers")
        self._operation = self._leave_unread() if "operation_id" in case.statement else ""
        self._used = self._uses()

    def __enter__(self) -> Self:
        """Return the session, which is active already."""
        return self

    def __exit__(self, *_: object) -> None:
        """End her session."""
        self._spark.stop()

    def seen(self) -> dict[str, str]:
        """Return the ids of alice that an attacker may know, without any credential."""
        return {
            "user_id": str(self._server.deployment.home.directory.principal("alice")),
            "session_id": self._spark.session_id,
            "operation_id": self._operation,
        }

    def harm(self, answer: str) -> str:
        """Return how the session was used or harmed since it began; an empty text if it was not."""
        if _HERS in answer:
            return "a result has rows that only alice may read"
        if not self._operation and self._uses() != self._used:
            return "a request ran in the session of alice"
        return next((wrong for asked in self._questions() if (wrong := _wrong(asked))), "")

    def _questions(self) -> Iterator[Callable[[], object]]:
        if self._operation:
            yield self._read_on
        yield lambda: self._spark.sql(_READ).collect()

    def _leave_unread(self) -> str:
        """Start a statement whose results stay on the server; return the operation's id."""
        client = self._spark.client
        operation = str(uuid.uuid4())
        request = client._execute_plan_request_with_metadata(operation_id=operation)  # noqa: SLF001 (sets the operation id)
        request.plan.root.sql.query = _READ
        request.request_options.add().reattach_options.reattachable = True
        list(client._stub.ExecutePlan(request, metadata=client._builder.metadata()))  # noqa: SLF001 (the same)
        return operation

    def _read_on(self) -> object:
        """Return the unread results."""
        client = self._spark.client
        request = proto.ReattachExecuteRequest(session_id=self._spark.session_id, operation_id=self._operation)
        return list(client._stub.ReattachExecute(request, metadata=client._builder.metadata()))  # noqa: SLF001 (the same)

    def _uses(self) -> list[float]:
        """Return when each session of alice was used last: the gateway reports every use with a delay."""
        time.sleep(_HEARD)
        deployment = self._server.deployment
        sessions = self._server._side.sparks.of(deployment.home).sessions._sessions  # noqa: SLF001 (only this check may)
        hers = deployment.home.directory.principal("alice")
        return [each.used for each in list(sessions.values()) if each.caller.principal == hers]


def _wrong(asked: Callable[[], object]) -> str:
    try:
        answer = repr(asked())
    except Exception as error:  # noqa: BLE001 (errors of gRPC are not errors of PySpark)
        return f"the session of alice gives other results than before: {error}"
    return "" if _HERS in answer else "the session of alice gives other results than before"
