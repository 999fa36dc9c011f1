"""Several processes on one PostgreSQL, and a server that is stopped, unresponsive, slow or read-only."""

import contextlib
import os
import queue
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from headgate.control.kernel.ports import DocumentPut, Head, LogWrite, RevisionConflictError, StoreError
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.facts.ids import ResourceId
from headgate.store import SqlStores, notifications, open_stores, postgresql
from tests.postgres import PostgresServer, start_server, stop_server
from tests.store.samples import OTHER, ROOT, created
from tests.store.tampered_store import run

NOTHING = LogWrite(0.0, None, "nothing", ())


@pytest.fixture
def replicas(postgres_url: str) -> Iterator[tuple[SqlStores, SqlStores]]:
    """The stores of two processes on one database."""
    pair = open_stores(postgres_url), open_stores(postgres_url)
    yield pair
    for stores in pair:
        stores.close()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A database server that the test may pause and stop."""
    with tempfile.TemporaryDirectory(prefix="headgate-postgres-") as folder:
        server = start_server(Path(folder))
        try:
            yield server
        finally:
            stop_server(server)


class TestReplicas:
    """Two stores on one database."""

    def test_a_database_always_counts_as_changed_elsewhere_and_a_folder_does_not(
        self, replicas: tuple[SqlStores, SqlStores], tmp_path: Path
    ) -> None:
        with contextlib.closing(open_stores(tmp_path)) as folder:
            assert [stores.changed_elsewhere() for stores in (*replicas, folder, *replicas, folder)] == [True] * 5 + [
                False
            ]

    def test_a_replica_sees_the_entries_of_the_other_at_once(self, replicas: tuple[SqlStores, SqlStores]) -> None:
        one, other = replicas
        for number in range(20):
            one.log(ROOT).append(one.log(ROOT).head(), created(number))
            assert other.heads([ROOT]) == {ROOT: one.log(ROOT).head()}
            assert other.log(ROOT).head().revision == number + 1

    def test_one_of_several_racing_replicas_wins_each_revision(self, replicas: tuple[SqlStores, SqlStores]) -> None:
        wins: list[int] = []
        start = threading.Barrier(4)

        def race(stores: SqlStores) -> None:
            for number in range(25):
                start.wait()
                expected = stores.log(ROOT).head()
                start.wait()
                with contextlib.suppress(RevisionConflictError):
                    wins.append(stores.log(ROOT).append(expected, created(number)).revision)

        threads = [threading.Thread(target=race, args=(stores,)) for stores in (*replicas, *replicas)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(wins) == list(range(1, 26))
        replicas[0].log(ROOT).verify()


class TestListening:
    """Notifications of entries that other processes wrote."""

    def test_a_listener_receives_the_revisions_of_every_log_while_it_is_connected(
        self, replicas: tuple[SqlStores, SqlStores]
    ) -> None:
        told: queue.Queue[tuple[ResourceId, int]] = queue.Queue()
        stop = replicas[0].listen(lambda root, revision: told.put((root, revision)), BackgroundTasks())
        writer = replicas[1].log(ROOT)

        head = _append_until(writer.append, told)
        replicas[1].log(OTHER).append(Head(), NOTHING)

        heard = told.get(timeout=60)
        while heard[0] == ROOT:
            assert heard[1] <= head.revision
            heard = told.get(timeout=60)
        assert heard == (OTHER, 1)
        stop()

    def test_a_listener_goes_on_after_its_connection_was_lost(
        self, replicas: tuple[SqlStores, SqlStores], postgres_url: str
    ) -> None:
        told: queue.Queue[tuple[ResourceId, int]] = queue.Queue()
        stop = replicas[0].listen(lambda root, revision: told.put((root, revision)), BackgroundTasks())
        head = _append_until(replicas[1].log(ROOT).append, told)

        run(postgres_url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ 'listener'")

        while not told.empty():
            told.get()
        _append_until(replicas[1].log(ROOT).append, told, head)
        stop()

    def test_a_listener_survives_an_error_of_its_callback(self, replicas: tuple[SqlStores, SqlStores]) -> None:
        told: queue.Queue[tuple[ResourceId, int]] = queue.Queue()

        def heard(root: ResourceId, revision: int) -> None:
            told.put((root, revision))
            raise RuntimeError("an error of the test")

        stop = replicas[0].listen(heard, BackgroundTasks())
        head = _append_until(replicas[1].log(ROOT).append, told)
        replicas[1].log(ROOT).append(head, NOTHING)

        while told.get(timeout=60) != (ROOT, head.revision + 1):
            pass
        stop()

    def test_a_listener_goes_on_after_an_unexpected_error(
        self, replicas: tuple[SqlStores, SqlStores], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: queue.Queue[tuple[ResourceId, int]] = queue.Queue()
        tasks, connect = BackgroundTasks(), notifications.psycopg.connect

        def fail(*_: object, **__: object) -> None:
            monkeypatch.setattr(notifications.psycopg, "connect", connect)
            raise ZeroDivisionError("unexpected")

        monkeypatch.setattr(notifications.psycopg, "connect", fail)
        stop = replicas[0].listen(lambda root, revision: told.put((root, revision)), tasks)
        _append_until(replicas[1].log(ROOT).append, told)
        stop()

        assert tasks.deaths == {"listener": 1}

    def test_a_listener_of_a_folder_is_silent(self, tmp_path: Path) -> None:
        with contextlib.closing(open_stores(tmp_path)) as stores:
            stores.listen(lambda _root, _revision: None, BackgroundTasks())()


class TestTrouble:
    """Failures: each raises `StoreError` soon, and the store works again once the server does."""

    def test_a_connection_that_was_ended_is_replaced(
        self, replicas: tuple[SqlStores, SqlStores], postgres_url: str
    ) -> None:
        store = replicas[0].log(ROOT)
        store.append(Head(), created(1))

        run(postgres_url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'headgate'")

        assert store.head().revision == 1
        assert store.append(store.head(), created(2)).revision == 2

    def test_a_server_that_is_gone_is_an_error_until_it_is_back(self, own_server: PostgresServer) -> None:
        stores = open_stores(own_server.url("postgres"))
        store = stores.log(ROOT)
        head = store.append(Head(), created(1))
        stop_server(own_server)

        for attempt in (stores.logs, store.head, lambda: store.append(head, NOTHING)):
            with pytest.raises(StoreError, match="check the database server"):
                attempt()

        again = start_server(own_server.folder, own_server.port)
        assert store.append(store.head(), created(2)).revision == 2
        store.verify()
        stores.close()
        stop_server(again)

    def test_a_server_that_does_not_answer_is_given_up_and_used_again_once_it_answers(
        self, own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgresql.TimeoutConnection, "patience", 0.5)
        stores = open_stores(own_server.url("postgres"))
        store = stores.log(ROOT)
        head = store.append(Head(), created(1))

        with stopped(own_server):
            with pytest.raises(StoreError, match=r"did not respond|timeout"):
                store.head()
            with pytest.raises(StoreError, match=r"did not respond|timeout"):
                store.append(head, created(2))

        assert store.head().revision == 1
        assert store.append(store.head(), created(2)).revision == 2
        store.verify()
        stores.close()

    def test_a_lock_that_another_client_holds_is_an_error(
        self, postgres_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgresql, "LIMITS", "-c statement_timeout=300ms")
        stores = open_stores(postgres_url)
        store = stores.log(ROOT)

        with psycopg.connect(postgres_url) as keeper:
            keeper.execute("LOCK TABLE log")
            with pytest.raises(StoreError, match="timeout"):
                store.append(Head(), created(1))
            with pytest.raises(StoreError, match="timeout"):
                store.head()

        assert store.append(Head(), created(1)).revision == 1
        stores.close()

    def test_more_callers_than_connections_wait_only_so_long(
        self, postgres_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgresql, "POOL_SIZE", 1)
        monkeypatch.setattr(postgresql, "POOL_SECONDS", 0.2)
        stores = open_stores(postgres_url)

        with contextlib.ExitStack() as busy:
            for _ in range(2):
                busy.enter_context(stores._database.transaction())
            with pytest.raises(StoreError, match="QueuePool limit"):
                stores.logs()

        assert stores.logs() == []
        stores.close()

    def test_a_read_only_server_is_an_error_until_it_is_writable(
        self, postgres: PostgresServer, postgres_url: str
    ) -> None:
        name = postgres_url.rpartition("/")[2]
        postgres.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        stores = open_stores(postgres_url)
        store = stores.log(ROOT)

        assert store.head().revision == 0
        with pytest.raises(StoreError, match="read-only"):
            store.append(Head(), created(1))
        with pytest.raises(StoreError, match="read-only"):
            store.put_document(DocumentPut("run", "a", {}))

        postgres.run(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        assert store.append(Head(), created(1)).revision == 1
        stores.close()


class TestParametersOfAConnection:
    def test_connection_parameters_are_found_without_a_connection(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening_here:
            port = listening_here.getsockname()[1]
            found = postgresql.connection_parameters(f"postgresql://u:secret@127.0.0.1:{port}/headgate?sslkey=/a%20key")
            listening_here.setblocking(False)  # noqa: FBT003
            with pytest.raises(BlockingIOError):
                listening_here.accept()

        assert found.items() >= {"host": "127.0.0.1", "port": str(port), "dbname": "headgate"}.items()
        assert found["sslkey"] == "/a key"

    def test_connection_parameters_are_the_environments_where_the_service_is_missing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in {"PGSERVICEFILE": tmp_path / "none", "PGSSLKEY": "/own.key"}.items():
            monkeypatch.setenv(name, str(value))

        assert postgresql.connection_parameters("postgresql:///headgate?service=none")["sslkey"] == "/own.key"

    def test_a_url_that_cannot_be_read_is_refused(self) -> None:
        with pytest.raises(StoreError, match="the URL of the store is malformed"):
            postgresql.connection_parameters("postgresql://u@a:1,b:2/headgate")


@contextlib.contextmanager
def stopped(server: PostgresServer) -> Iterator[None]:
    """Suspend all processes of a server: its connections stay open, and none is answered."""
    pids = [int(pid) for pid in _children(server.process.pid)]
    for pid in (server.process.pid, *pids):
        _signal(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in (*pids, server.process.pid):
            _signal(pid, signal.SIGCONT)


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _append_until(
    append: Callable[[Head, LogWrite], Head], told: queue.Queue[tuple[ResourceId, int]], head: Head | None = None
) -> Head:
    """Append entries until the listener reports one, because it needs a moment to connect; return the head."""
    deadline = time.monotonic() + 20
    head = head or Head()
    while told.empty():
        assert time.monotonic() < deadline
        head = append(head, NOTHING)
        time.sleep(0.05)
    return head
