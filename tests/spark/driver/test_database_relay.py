"""The relay between a sandboxed driver and the databases that its statements may use."""

import hashlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any, Final

import pytest

from headgate.control.connections.commands import JdbcAccess
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.spark.driver import database_relay
from headgate.spark.driver.database_relay import OPEN, REFUSED, UNREACHABLE, DatabaseRelay

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the relay is for sandboxes, which only Linux has")
HERE: Final = "127.0.0.1"
PATIENCE: Final = 20.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Echo:
    """A database that echoes its input and closes the connection when the client does."""

    def __init__(self) -> None:
        self.server = socket.create_server((HERE, 0))
        self.port: int = self.server.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self.server.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.server.accept()
                self.connections += 1
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            while data := client.recv(1 << 16):
                client.sendall(data)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def relay(clock: Clock) -> Iterator[DatabaseRelay]:
    made = DatabaseRelay(clock)
    made.start(BackgroundTasks())
    yield made
    made.stop()


@pytest.fixture
def echo() -> Iterator[Echo]:
    with closing(Echo()) as made:
        yield made


Connect = Callable[[str], tuple[socket.socket, bytes]]


@pytest.fixture
def connect(relay: DatabaseRelay) -> Iterator[Connect]:
    opened = list[socket.socket]()

    def connect(ticket: str) -> tuple[socket.socket, bytes]:
        client = socket.create_connection((HERE, relay.port), PATIENCE)
        opened.append(client)
        client.sendall(ticket.encode())
        return client, client.recv(1)

    yield connect
    for each in opened:
        each.close()


def ticket(relay: DatabaseRelay, port: int, *addresses: str, is_allowed: Callable[[], bool] = lambda: True) -> str:
    """Return the ticket of a database access, as the driver gets it."""
    declared = JdbcAccess("jdbc:x", {"user": "ann", "socketFactoryArg": "x"}, port, addresses or (HERE,))
    access = relay.route(declared, is_allowed)
    way, relay_port, found = access.properties["socketFactoryArg"].split(" ")
    assert (access.url, access.properties["user"], way, int(relay_port)) == ("jdbc:x", "ann", "relay", relay.port)
    return found


def read_all(client: socket.socket) -> bytes:
    found = b""
    while data := client.recv(1 << 20):
        found += data
    return found


def test_bytes_pass_in_both_directions_until_both_ends_close(
    relay: DatabaseRelay, echo: Echo, connect: Connect
) -> None:
    client, said = connect(ticket(relay, echo.port))
    sent = bytes(range(256)) * 80_000

    def send() -> None:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)

    threading.Thread(target=send, daemon=True).start()

    assert said == OPEN
    assert hashlib.sha256(read_all(client)).digest() == hashlib.sha256(sent).digest()


@pytest.mark.parametrize(
    "presented", ["", "x", "x" * 43, "y" * 500, "\0" * 43], ids=["none", "short", "wrong", "long", "nul"]
)
def test_a_client_without_a_valid_ticket_is_not_connected(relay: DatabaseRelay, echo: Echo, presented: str) -> None:
    ticket(relay, echo.port)
    # The relay may have closed the connection already.
    with suppress(OSError), socket.create_connection((HERE, relay.port), PATIENCE) as client:
        client.sendall(presented.encode())
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) in (REFUSED, b"")

    assert echo.connections == 0


def test_a_ticket_expires(relay: DatabaseRelay, echo: Echo, clock: Clock, connect: Connect) -> None:
    late = ticket(relay, echo.port)
    clock.now += 61

    assert connect(late)[1] == REFUSED
    assert echo.connections == 0


def test_a_ticket_stays_valid_while_one_of_its_connections_is_open(
    relay: DatabaseRelay, echo: Echo, clock: Clock, connect: Connect
) -> None:
    found = ticket(relay, echo.port)
    client, said = connect(found)
    clock.now += 3500
    ticket(relay, echo.port)  # the relay forgets expired tickets here

    assert (said, connect(found)[1]) == (OPEN, OPEN)
    clock.now += 200
    assert connect(found)[1] == REFUSED
    client.close()


def test_each_connection_of_a_ticket_is_authorized_again(relay: DatabaseRelay, echo: Echo, connect: Connect) -> None:
    answers = iter((True, False, True))
    found = ticket(relay, echo.port, is_allowed=lambda: next(answers))

    assert [connect(found)[1] for _ in range(3)] == [OPEN, REFUSED, OPEN]


def test_a_ticket_allows_at_most_sixteen_connections(relay: DatabaseRelay, echo: Echo, connect: Connect) -> None:
    found = ticket(relay, echo.port)

    assert [connect(found)[1] for _ in range(17)] == [OPEN] * 16 + [REFUSED]


def test_the_relay_tries_the_next_address_after_one_that_fails(
    relay: DatabaseRelay, echo: Echo, connect: Connect
) -> None:
    client, said = connect(ticket(relay, echo.port, "127.0.0.9", HERE))
    client.sendall(b"x")

    assert (said, client.recv(1)) == (OPEN, b"x")


def test_a_database_that_does_not_answer_is_reported_as_unreachable(relay: DatabaseRelay, connect: Connect) -> None:
    with socket.socket() as free:
        free.bind((HERE, 0))
        port = free.getsockname()[1]

    assert connect(ticket(relay, port))[1] == UNREACHABLE


def test_the_relay_accepts_connections_again_after_an_unexpected_error(
    relay: DatabaseRelay, echo: Echo, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, failed = relay._begin, threading.Event()  # pyright: ignore[reportPrivateUsage]

    def fail(client: socket.socket) -> None:
        if failed.is_set():
            begin(client)
            return
        failed.set()
        client.close()
        raise ZeroDivisionError

    monkeypatch.setattr(relay, "_begin", fail)
    with suppress(OSError), socket.create_connection((HERE, relay.port), PATIENCE) as client:
        client.recv(1)
    assert failed.wait(PATIENCE)

    assert connect(ticket(relay, echo.port))[1] == OPEN


def test_silent_clients_do_not_exhaust_the_connections_of_the_relay(
    relay: DatabaseRelay, echo: Echo, connect: Connect
) -> None:
    with ExitStack() as silent:
        clients = [silent.enter_context(socket.create_connection((HERE, relay.port), PATIENCE)) for _ in range(300)]
        clients[0].settimeout(0.1)

        assert clients[-1].recv(1) == b""
        with pytest.raises(TimeoutError):
            clients[0].recv(1)
    found = ticket(relay, echo.port)
    deadline = time.monotonic() + PATIENCE
    while connect(found)[1] != OPEN:
        assert time.monotonic() < deadline


def test_stopping_the_relay_closes_its_connections(relay: DatabaseRelay, echo: Echo, connect: Connect) -> None:
    client, _ = connect(ticket(relay, echo.port))
    port = relay.port

    relay.stop()

    assert client.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HERE, port), 1)


def test_a_database_that_answers_after_the_relay_has_stopped_is_not_connected(
    relay: DatabaseRelay, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach, began, goes_on = database_relay._connect, threading.Event(), threading.Event()  # pyright: ignore[reportPrivateUsage]

    def reach_late(*arguments: Any) -> socket.socket | None:
        began.set()
        goes_on.wait(PATIENCE)
        return reach(*arguments)

    monkeypatch.setattr(database_relay, "_connect", reach_late)
    with socket.create_connection((HERE, relay.port), PATIENCE) as client:
        client.sendall(ticket(relay, echo.port).encode())
        assert began.wait(PATIENCE)

        relay.stop()
        goes_on.set()

        assert client.recv(1) == b""
