"""The database relay: a sandboxed driver connects only to the relay, and the relay to the addresses that were allowed.

A driver's sandbox restricts ports but not hosts, so it allows no port of a database. With the decision about a connection
the driver receives a ticket for the addresses of that decision. A driver cannot send an address to the relay.
"""

import fcntl
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from headgate.control.connections.commands import JdbcAccess
from headgate.control.kernel.supervision import BackgroundTasks

log = logging.getLogger(__name__)

_LOOPBACK: Final = "127.0.0.1"
_VALID_SECONDS: Final = 60.0
_USES: Final = 16
"""The limit of connections by one ticket. Several are needed: without TLS after TLS failed, and to cancel a query."""
_LONGEST_SECONDS: Final = 3600.0
"""The lifetime of a ticket while one of its connections is open."""
_MOST_CONNECTIONS: Final = 256
"""The limit of all connections, including those that have not sent a ticket yet."""
_BREATH: Final = 0.2
"""Seconds to wait after a connection could not be accepted."""
_TICKET_BYTES: Final = 43
_PATIENCE: Final = 10.0
"""The time limit for the ticket to arrive, and for each address to accept the connection."""
_SOON: Final = 0.001
_PIECE: Final = 1 << 18
"""The size of the pipe between two sockets, in bytes."""
_SET_PIPE_SIZE: Final = 1031
OPEN, REFUSED, UNREACHABLE = b"\0", b"\1", b"\2"
"""The reply to a ticket."""


@dataclass(slots=True)
class _Ticket:
    """The addresses that a decision allowed, and the uses of the ticket."""

    port: int
    addresses: Sequence[str]
    is_allowed: Callable[[], bool]
    issued: float
    uses: int = 0
    open: int = 0

    def is_valid(self, now: float) -> bool:
        """Whether the ticket allows another connection: shortly after the decision, or while one of its connections is open."""
        return self.uses < _USES and now - self.issued < (_LONGEST_SECONDS if self.open else _VALID_SECONDS)


class DatabaseRelay:
    """Listens on a free port on loopback. The kernel copies the bytes; each connection uses two threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._tickets: dict[str, _Ticket] = {}
        self._server: socket.socket | None = None
        self._open = set[socket.socket]()
        self._room = threading.BoundedSemaphore(_MOST_CONNECTIONS)

    @property
    def port(self) -> int | None:
        """The port on which the relay listens; None before the start."""
        return self._server.getsockname()[1] if self._server else None

    def start(self, tasks: BackgroundTasks) -> None:
        """Start to listen. Raises `OSError`."""
        server = self._server = socket.create_server((_LOOPBACK, 0))
        tasks.start_thread("database relay", lambda: self._accept(server), "runs cannot connect to databases")

    def stop(self) -> None:
        """Close all connections, and stop listening."""
        with self._lock:
            server, self._server = self._server, None
            for each in self._open:
                _shut(each)
        if server:
            _shut(server)
            server.close()

    def route(self, access: JdbcAccess, is_allowed: Callable[[], bool]) -> JdbcAccess:
        """Return the same access by a ticket of the relay, in place of the allowed addresses.

        `is_allowed` decides again before each connection by the ticket, because privileges may have been revoked since.
        """
        ticket, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._tickets = {key: each for key, each in self._tickets.items() if each.is_valid(now)}
            self._tickets[ticket] = _Ticket(access.port, access.addresses, is_allowed, now)
        way = {"socketFactoryArg": f"relay {self.port} {ticket}"}
        return replace(access, properties={**access.properties, **way})

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError as error:
                if self._server is not server:
                    return
                log.warning(
                    "the relay to external databases cannot accept a connection (%s), and tries again; if that continues, raise the limit of open files of the server",
                    error,
                )
                time.sleep(_BREATH)
                continue
            if not self._room.acquire(blocking=False):
                log.warning(
                    "the relay to external databases has %d connections, its limit, so a run cannot open another one; run fewer pipelines at once",
                    _MOST_CONNECTIONS,
                )
                client.close()
                continue
            self._begin(client)

    def _begin(self, client: socket.socket) -> None:
        try:
            threading.Thread(target=self._serve, args=(client,), name="database connection", daemon=True).start()
        except RuntimeError as error:
            self._room.release()
            client.close()
            log.warning(
                "the relay to external databases cannot start a thread (%s), so a run cannot connect to its database; raise the limit of threads or memory of the server",
                error,
            )
            time.sleep(_BREATH)

    def _serve(self, client: socket.socket) -> None:
        try:
            self._serve_ticket(client)
        finally:
            self._room.release()

    def _serve_ticket(self, client: socket.socket) -> None:
        with client:
            ticket = self._redeem(_read_ticket(client))
            if ticket is None:
                _answer(client, REFUSED)
                return
            try:
                if ticket.is_allowed():
                    self._relay(client, ticket)
                else:
                    _answer(client, REFUSED)
            finally:
                with self._lock:
                    ticket.open -= 1

    def _redeem(self, presented: str) -> _Ticket | None:
        with self._lock:
            ticket = self._tickets.get(presented)
            if ticket is None or not ticket.is_valid(self._clock()):
                return None
            ticket.uses += 1
            ticket.open += 1
            return ticket

    def _relay(self, client: socket.socket, ticket: _Ticket) -> None:
        database = _connect(ticket)
        if database is None:
            _answer(client, UNREACHABLE)
            return
        with database:
            for each in (client, database):
                each.settimeout(None)
                # The copied data is complete; without this option the kernel would delay the end of a response by 40 ms.
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            database.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            pair = {client, database}
            with self._lock:
                if self._server is None:  # the relay was stopped during the connection to the database
                    return
                self._open |= pair
            try:
                _answer(client, OPEN)
                back = threading.Thread(target=_copy, args=(database, client), name="database answers", daemon=True)
                back.start()
                _copy(client, database)
                back.join()
            finally:
                with self._lock:
                    self._open -= pair


def _read_ticket(client: socket.socket) -> str:
    """Return the ticket that a client sends first; empty if it does not arrive in time."""
    found, deadline = b"", time.monotonic() + _PATIENCE
    with suppress(OSError):
        while len(found) < _TICKET_BYTES:
            client.settimeout(max(deadline - time.monotonic(), _SOON))
            more = client.recv(_TICKET_BYTES - len(found))
            if not more or time.monotonic() > deadline:
                return ""
            found += more
    return found.decode("ascii", "replace")


def _connect(ticket: _Ticket) -> socket.socket | None:
    """Return a connection to the first address that accepts one. Addresses are numeric, so no name is resolved."""
    for address in ticket.addresses:
        with suppress(OSError):
            return socket.create_connection((address, ticket.port), _PATIENCE)
    return None


def _answer(client: socket.socket, answer: bytes) -> None:
    with suppress(OSError):
        client.sendall(answer)


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy until the source ends, then close the target's input; an error closes both."""
    ends: tuple[int, ...] = ()
    try:
        ends = read_end, write_end = os.pipe()
        with suppress(OSError):  # the kernel limits how much of larger pipes a user may have
            fcntl.fcntl(write_end, _SET_PIPE_SIZE, _PIECE)
        while count := os.splice(source.fileno(), write_end, _PIECE):
            while count:
                count -= os.splice(read_end, target.fileno(), count)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        _shut(source)
        _shut(target)
    finally:
        for each in ends:
            os.close(each)


def _shut(opened: socket.socket) -> None:
    with suppress(OSError):
        opened.shutdown(socket.SHUT_RDWR)
