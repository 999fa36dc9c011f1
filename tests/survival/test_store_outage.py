"""A store that is stopped, silent, locked or read-only.

Nothing is allowed, nothing is acknowledged, and the server recovers afterwards.
"""

import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from headgate.app.deployment import open_deployment
from headgate.endpoints.http.probes import READY_FOR
from headgate.store import SqlStore, postgresql
from tests.app.server_process import until
from tests.soak import count
from tests.survival.client import Client, http
from tests.survival.concurrent_clients import Told, in_log
from tests.survival.postgres_faults import TROUBLES, OwnServer, read_only
from tests.survival.replica import machine, replica, settings_of
from tests.survival.replicas import Facts, facts_in

SOAK_ROUNDS = 5
SEARCHED = {
    "subject": {"type": "user", "id": "nobody"},
    "action": {"name": "database.describe"},
    "resource": {"type": "database"},
}
DOORS = (
    ("GET", "/api/v1/me", None),
    ("GET", "/o/main/api/v1/me", None),
    ("GET", "/api/v1/resources", None),
    ("POST", "/api/v1/questions", {"action": "database.describe", "resource": "lake.db0"}),
    ("POST", "/access/v1/evaluations", {"evaluations": []}),
    ("POST", "/access/v1/search/resource", SEARCHED),
    ("GET", "/iceberg/v1/config", None),
    ("POST", "/guard/v1/decide", {}),
    ("GET", "/readyz", None),
)


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with tempfile.TemporaryDirectory(prefix="headgate-postgres-") as folder:
        opened = OwnServer(Path(folder))
        try:
            yield opened
        finally:
            opened.stop()


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the store's timeouts, so that the tests take less time."""
    monkeypatch.setattr(postgresql.TimeoutConnection, "patience", 1.0)
    monkeypatch.setattr(postgresql, "CONNECT_SECONDS", 2)
    monkeypatch.setattr(postgresql, "LIMITS", "-c statement_timeout=1s -c lock_timeout=1s")


class Deployed:
    """A deployment with one replica, its test data and its owner."""

    def __init__(self, folder: Path, store_url: str | None, facts: Facts, owner: Client, revision: int) -> None:
        self.folder = folder
        self.store_url = store_url
        self.facts = facts
        self.owner = owner
        self.revision = revision

    def log(self) -> dict[int, tuple[str, str]]:
        """Return the operations in the log after the test data, and verify the log."""
        deployment = open_deployment(settings_of(machine(self.folder, "later"), self.store_url))
        try:
            store = deployment.stores.log(deployment.home.id)
            assert isinstance(store, SqlStore)
            store.verify()
            return in_log(store, self.facts.pairs, self.revision)
        finally:
            deployment.close()


@pytest.fixture
def deployed(server: OwnServer, tmp_path: Path) -> Iterator[Deployed]:
    url = server.running.url(server.running.create())
    settings = settings_of(tmp_path, url)
    deployment = open_deployment(settings)
    facts, revision = facts_in(deployment, 2), deployment.home.control.snapshot.revision
    deployment.close()
    with replica(machine(tmp_path, "one"), url) as address, http() as connections:
        yield Deployed(tmp_path, url, facts, Client(connections, address, facts.owner), revision)


@contextmanager
def writing(deployed: Deployed) -> Iterator[Told]:
    """Assign and revoke a role repeatedly.

    Yields the record of acknowledged changes, which is complete after the block.
    """
    told, ended, pair = Told(), threading.Event(), deployed.facts.pairs[1]

    def write() -> None:
        while not ended.is_set():
            for what, act in (("give", deployed.owner.give), ("take", deployed.owner.take)):
                answer = act(pair)
                assert answer.status_code in (200, 201, 404, 503), answer.text
                if answer.is_success:
                    told.acknowledged(answer.json()["revision"], what, pair)

    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(write)
        try:
            yield told
        finally:
            ended.set()
            done.result()


def is_unavailable(answer: httpx.Response) -> bool:
    """Require that an answer is a 503 with a `Retry-After` header."""
    assert answer.status_code == 503, (answer.request.url, answer.status_code, answer.text)
    assert int(answer.headers["retry-after"]) > 0
    return True


@pytest.mark.parametrize("trouble", TROUBLES)
def test_every_call_is_unavailable_during_store_trouble_and_no_change_is_lost(
    deployed: Deployed, server: OwnServer, trouble: str
) -> None:
    require_survival(deployed, server, trouble)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_server_survives_repeated_trouble_of_its_store(deployed: Deployed, server: OwnServer, trouble: str) -> None:
    acknowledged = 0
    for _ in range(SOAK_ROUNDS):
        time.sleep(READY_FOR)  # `/readyz` caches its result about the store for this time
        acknowledged += require_survival(deployed, server, trouble)

    count(f"PostgreSQL {trouble}: {SOAK_ROUNDS} times under load, {acknowledged} acknowledged changes, none lost")


def require_survival(deployed: Deployed, server: OwnServer, trouble: str) -> int:
    """Cause the fault in the store while a client writes; return the number of acknowledged changes."""
    owner, pair = deployed.owner, deployed.facts.pairs[0]
    given = owner.give(pair)
    assert owner.may(pair)

    with writing(deployed) as told:
        with TROUBLES[trouble](server):
            asker = Client(owner.http, owner.address, pair.token)
            unseen = Client(owner.http, owner.address, deployed.facts.pairs[1].token)
            doors = [partial(each.send, *door) for each in (owner, unseen) for door in DOORS]
            sent = [lambda: asker.ask(pair), lambda: unseen.ask(pair), lambda: owner.take(pair), *doors]
            with ThreadPoolExecutor(len(sent)) as threads:
                assert all(threads.map(lambda each: is_unavailable(each()), sent))
            assert owner.send("GET", "/healthz").status_code == 200
        until(lambda: asker.ask(pair).status_code == 200, lambda: "the server does not recover")
        assert owner.may(pair)
        until(lambda: owner.send("GET", "/readyz").status_code == 200, lambda: "the server does not become ready again")
        taken = owner.take(pair)
        assert not owner.may(pair)

    log = deployed.log()
    assert told.written
    assert told.written.items() <= log.items()
    assert log[given.json()["revision"]] == ("give", pair.user)
    assert log[taken.json()["revision"]] == ("take", pair.user)
    return len(told.written)


def test_a_change_is_refused_and_reads_are_current_while_the_store_is_read_only(
    deployed: Deployed, server: OwnServer, caplog: pytest.LogCaptureFixture
) -> None:
    owner, pair = deployed.owner, deployed.facts.pairs[0]
    assert owner.give(pair).is_success

    with read_only(server):
        until(lambda: owner.give(deployed.facts.pairs[1]).status_code == 503, lambda: "it can be written")
        assert is_unavailable(owner.take(pair))
        assert is_unavailable(owner.send("GET", "/readyz"))
        assert owner.may(pair)
    until(lambda: owner.take(pair).is_success, lambda: "the server does not recover")
    assert not owner.may(pair)
    until(lambda: owner.send("GET", "/readyz").status_code == 200, lambda: "the server does not become ready again")

    assert "read-only" in caplog.text
    assert pair.principal not in caplog.text
