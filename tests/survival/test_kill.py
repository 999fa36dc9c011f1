"""`kill -9` during API changes: after a restart every acknowledged change is there, and none is partial."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import httpx
import pytest

from headgate.app.deployment import Deployment, open_deployment
from headgate.control import control
from headgate.facts import checkpoint
from headgate.facts.fold import fold
from headgate.facts.snapshot import Snapshot
from headgate.store import SqlStore
from tests.soak import count
from tests.survival.client import Client, http
from tests.survival.concurrent_clients import Told, in_log
from tests.survival.replica import settings_of
from tests.survival.replicas import Facts, Pair, Replica, facts_in, process

ROUNDS = 5
SOAK_PIECES, SOAK_ROUNDS = 4, 25
WRITERS = 3
WITHIN = 60.0
"""Seconds until the first changes after a start; generous, because machines are shared."""


@pytest.fixture(autouse=True)
def many_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "CHECKPOINT_EVERY", 10)


@contextmanager
def opened(folder: Path, store_url: str | None) -> Iterator[Deployment]:
    """Open the deployment; when the block ends, close it, which writes a checkpoint."""
    deployment = open_deployment(settings_of(folder, store_url))
    try:
        yield deployment
    finally:
        deployment.close()


def write_until_killed(owner: Client, pair: Pair, told: Told) -> None:
    """Assign and revoke a role until the server does not answer; record the acknowledged changes."""
    for what, act in cycle([("give", owner.give), ("take", owner.take)]):
        try:
            answer = act(pair)
        except httpx.TransportError:
            return
        # The last write before a kill may be in the log although it was not acknowledged.
        assert answer.is_success or (what, answer.status_code) == ("take", 404), answer.text
        if answer.is_success:
            told.acknowledged(answer.json()["revision"], what, pair)


def killed(server: Replica, facts: Facts, told: Told, changes: int, seconds: float) -> None:
    """Write from several clients, and kill the server some time after `changes` changes were acknowledged."""
    with http() as connections, ThreadPoolExecutor(WRITERS) as threads:
        owner = Client(connections, server.address, facts.owner)
        done = [threads.submit(write_until_killed, owner, pair, told) for pair in facts.pairs]
        enough, end = len(told.written) + changes, time.monotonic() + WITHIN
        while len(told.written) < enough and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(seconds)
        server.kill()
        for each in done:
            each.result()


def is_whole(deployment: Deployment, facts: Facts, after: int, told: Told) -> bool:
    """Check a log against the acknowledged changes and its own hash chain, the newest facts and every checkpoint.

    Returns whether there is a checkpoint.
    """
    store = deployment.stores.log(deployment.home.id)
    assert isinstance(store, SqlStore)
    store.verify()
    assert told.written.items() <= in_log(store, facts.pairs, after).items()
    snapshot, kept = Snapshot(), store.checkpoint()
    for entry in store.entries():
        snapshot = fold(snapshot, entry.changes, entry.revision)
        if kept is not None and kept.revision == entry.revision:
            assert (checkpoint.load_checkpoint(kept.content), kept.at) == (snapshot, entry.at)
    assert snapshot == deployment.home.control.snapshot
    assert set(store.documents("principal")) == set(snapshot.principals)
    return kept is not None


def kill_again_and_again(folder: Path, store_url: str | None, rounds: int, seed: int) -> int:
    """Repeat: kill a server while it writes, check the store, restart on it.

    Return the number of acknowledged changes.
    """
    chance, told, checkpoints = random.Random(seed), Told(), 0  # noqa: S311 (a fixed seed, to repeat a failure)
    with opened(folder, store_url) as deployment:
        facts, after = facts_in(deployment, WRITERS), deployment.home.control.snapshot.revision
    for _ in range(rounds):
        with process(folder, store_url) as server:
            killed(server, facts, told, chance.randint(1, 20), chance.uniform(0.0, 0.2))
        with opened(folder, store_url) as deployment:
            checkpoints += is_whole(deployment, facts, after, told)
    assert checkpoints
    return len(told.written)


@pytest.fixture(params=["folder", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> str | None:
    return request.getfixturevalue("postgres_url") if request.param == "postgresql" else None


@pytest.mark.timeout(180)
def test_every_acknowledged_change_survives_a_kill(tmp_path: Path, store_url: str | None) -> None:
    assert kill_again_and_again(tmp_path, store_url, ROUNDS, seed=7) > 0


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("piece", range(SOAK_PIECES))
def test_every_acknowledged_change_survives_many_kills(tmp_path: Path, store_url: str | None, piece: int) -> None:
    acknowledged = kill_again_and_again(tmp_path, store_url, SOAK_ROUNDS, seed=piece)

    count(f"{SOAK_ROUNDS} kills, {acknowledged} acknowledged changes, none lost and none half")
    assert acknowledged > SOAK_ROUNDS
