"""A data folder that cannot be written.

No change is acknowledged, questions are still answered, and the server recovers afterwards.
"""

import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from headgate.app.deployment import open_deployment
from headgate.endpoints.http.probes import READY_FOR
from headgate.store import SqlStore
from tests.app.server_process import until
from tests.soak import count
from tests.survival.client import Client, http
from tests.survival.concurrent_clients import in_log
from tests.survival.replica import settings_of
from tests.survival.replicas import Facts, facts_in, process

SOAK_ROUNDS = 8


@contextmanager
def locked(folder: Path, _: BaseProcess) -> Iterator[None]:
    """Hold a write transaction in another process for the whole block."""
    with closing(sqlite3.connect(folder / "headgate.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def full(_: Path, server: BaseProcess) -> Iterator[None]:
    """Keep every file of the server from growing, as when a disk or a quota is full."""
    assert server.pid is not None
    soft, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (soft, hard))


TROUBLES: dict[str, Callable[[Path, BaseProcess], AbstractContextManager[None]]] = {
    each.__name__: each for each in (locked, full)
}


def made(folder: Path) -> tuple[Facts, int]:
    """Create the test data; return it with the newest revision."""
    deployment = open_deployment(settings_of(folder, None))
    try:
        return facts_in(deployment, 1), deployment.home.control.snapshot.revision
    finally:
        deployment.close()


@pytest.mark.parametrize("trouble", TROUBLES)
def test_questions_are_answered_and_changes_refused_while_the_folder_is_unwritable(
    tmp_path: Path, trouble: str
) -> None:
    require_survival(tmp_path, trouble, rounds=1)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_server_survives_repeated_trouble_of_its_data_folder(tmp_path: Path, trouble: str) -> None:
    require_survival(tmp_path, trouble, SOAK_ROUNDS)

    count(f"data folder {trouble}: {SOAK_ROUNDS} times, every change before and after it kept, none in it")


def require_survival(tmp_path: Path, trouble: str, rounds: int) -> None:
    """Cause the fault in a server's data folder `rounds` times, and compare the log with the acknowledged changes."""
    facts, revision = made(tmp_path)
    (pair,) = facts.pairs
    with process(tmp_path) as server, http() as connections:
        owner = Client(connections, server.address, facts.owner)
        for number in range(rounds):
            if number:
                time.sleep(READY_FOR)  # `/readyz` caches its result about the store for this time
            assert owner.give(pair).is_success

            with TROUBLES[trouble](tmp_path, server.process):
                answer = owner.take(pair)
                assert (answer.status_code, int(answer.headers["retry-after"]) > 0) == (503, True), answer.text
                assert owner.may(pair)
                assert owner.send("GET", "/readyz").status_code == 503
                assert owner.send("GET", "/healthz").status_code == 200

            until(lambda: owner.take(pair).is_success, lambda: "the server does not recover")
            assert not owner.may(pair)
            until(
                lambda: owner.send("GET", "/readyz").status_code == 200,
                lambda: "the server does not become ready again",
            )

    deployment = open_deployment(settings_of(tmp_path, None))
    try:
        store = deployment.stores.log(deployment.home.id)
        assert isinstance(store, SqlStore)
        store.verify()
        expected = [("give", pair.user), ("take", pair.user)] * rounds
        assert list(in_log(store, facts.pairs, revision).values()) == expected
    finally:
        deployment.close()
