"""The stock Spark Connect client, pointed at the gateway: how the server itself runs SQL, as whoever asks."""

import atexit
import logging
from collections.abc import Callable
from typing import cast
from urllib.parse import quote, urlsplit

from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.connect.shell.progress import ProgressHandler

from headgate.spark.authority import ORGANIZATION_HEADER, PresentedCredential
from headgate.spark.connect_address import connect_address
from headgate.spark.driver.response_validation import CheckedAnswers
from headgate.spark.sql.client_sessions import ClientSessions
from headgate.spark.sql.execution import OperationIds, RegisterOperation, StatementExecution, on_progress
from headgate.spark.sql.statements import Execution, StatementRequest

_RETRIES = 6
_PORT = 15002
"""Spark Connect's own, where an address names none."""
_LONGEST_WAIT = 2000
"""Milliseconds between two tries."""

# The client logs every failed statement with a stack trace; here each becomes the answer to whoever sent it.
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class _Session(SparkSession):
    """Ends when it is stopped, and not when the collector finds it: on the client's own thread, that one waits for itself."""

    def __del__(self) -> None:
        """Leave the client alone."""

    def stop(self) -> None:
        """End it, also where the gateway has ended it before."""
        try:
            super().stop()
        except DeprecationWarning:
            # So the client's own logger says that it could not be released, where warnings are errors.
            self.client.close()


def connect(port: int, token: str, organization: str = "") -> SparkSession:
    """Open a new session through the gateway on this machine. The caller stops it.

    `organization` is the id or name of one, for a login that is in several.
    """
    named = f";{ORGANIZATION_HEADER}={quote(organization, safe='')}" if organization else ""
    return _open_session(f"{connect_address('localhost', port, tls=False)}/;token={token}{named}")


def connect_to(gateway: str, token: str) -> SparkSession:
    """Open a new session through the gateway at an `https` address, or an `http` one of this machine."""
    parts = urlsplit(gateway)
    if parts.scheme == "http":
        return connect(parts.port or _PORT, token)
    return _open_session(f"{connect_address(parts.hostname or '', parts.port or _PORT, tls=True)};token={token}")


def _open_session(url: str) -> SparkSession:
    builder = DefaultChannelBuilder(url)
    builder.add_interceptor(CheckedAnswers())  # pyright: ignore[reportArgumentType] (it intercepts both kinds of calls)
    builder.add_interceptor(OperationIds())
    session = _Session(builder)
    # The client would keep itself for a last call when this process ends, and then wait long for a server that is gone.
    atexit.unregister(session.client._cleanup_ml_cache)  # noqa: SLF001 (there is no public way)
    # The client's own patience is ten minutes; whoever waits here would rather be told that Spark is away.
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, max_backoff=_LONGEST_WAIT)])
    return session


class Statements:
    """Runs statements as the holder of a credential, each beside the others in the one session of that credential."""

    def __init__(self, port: Callable[[], int], register: RegisterOperation) -> None:
        """`register` has the needs of an operation kept."""

        def connected(credential: PresentedCredential) -> SparkSession:
            session = connect(port(), credential.token, credential.organization)
            session.registerProgressHandler(cast(ProgressHandler, on_progress))  # any function will do
            return session

        self._sessions = ClientSessions(connected)
        self._register = register

    def begin(self, credential: PresentedCredential, wanted: StatementRequest) -> Execution:
        """Return a statement that is about to run; returns at once."""
        return StatementExecution(self._sessions, credential, wanted, self._register)

    def close(self) -> None:
        """End every session."""
        self._sessions.close()
