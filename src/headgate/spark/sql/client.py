"""The server's own Spark Connect client: it runs SQL through the gateway, with the credential of the caller."""

import atexit
import logging
from collections.abc import Callable
from typing import cast
from urllib.parse import quote, urlsplit

from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.connect.shell.progress import ProgressHandler
from typing_extensions import override

from headgate.spark.authority import ORGANIZATION_HEADER, PresentedCredential
from headgate.spark.connect_address import connect_address
from headgate.spark.driver.response_validation import CheckedAnswers
from headgate.spark.sql.client_sessions import ClientSessions
from headgate.spark.sql.execution import OperationIds, RegisterOperation, StatementExecution, on_progress
from headgate.spark.sql.statements import Execution, StatementRequest

_RETRIES = 6
_PORT = 15002
"""The default port of Spark Connect."""
_LONGEST_WAIT = 2000
"""The longest wait between two attempts, in milliseconds."""

# The client logs every failed statement with a stack trace; the server returns each failure to the caller instead.
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class _Session(SparkSession):
    """Ends only when stopped, not on garbage collection: on the client's own thread, that would wait for itself (deadlock)."""

    @override
    def __del__(self) -> None:
        """Do not close the client."""

    @override
    def stop(self) -> None:
        """End the session, even if the gateway has already ended it."""
        try:
            super().stop()
        except DeprecationWarning:
            # Where warnings are errors, the client's own logger raises one if it cannot release the session.
            self.client.close()


def connect(port: int, token: str, organization: str = "") -> SparkSession:
    """Open a new session through the gateway on this machine; the calling code must stop it.

    `organization` is an id or name, required for a login with several organizations.
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
    # The client would register a last call for the exit of this process, and then wait long for a server that has stopped.
    atexit.unregister(session.client._cleanup_ml_cache)  # noqa: SLF001 (there is no public method)
    # The client's own timeout is ten minutes; a waiting caller should learn earlier that Spark is not available.
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, max_backoff=_LONGEST_WAIT)])
    return session


class Statements:
    """Runs statements with a caller's credential; the statements of one credential share one session."""

    def __init__(self, port: Callable[[], int], register: RegisterOperation) -> None:
        """`register` starts to record the required privileges of an operation."""

        def connected(credential: PresentedCredential) -> SparkSession:
            session = connect(port(), credential.token, credential.organization)
            session.registerProgressHandler(
                cast(ProgressHandler, on_progress)
            )  # the type is nominal; any function works
            return session

        self._sessions = ClientSessions(connected)
        self._register = register

    def begin(self, credential: PresentedCredential, wanted: StatementRequest) -> Execution:
        """Return a statement that is ready to run, without waiting."""
        return StatementExecution(self._sessions, credential, wanted, self._register)

    def close(self) -> None:
        """End every session."""
        self._sessions.close()
