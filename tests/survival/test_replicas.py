"""Two replicas on one PostgreSQL, and one server on SQLite: a change that one acknowledges is effective on all."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from headgate.app.deployment import open_deployment
from headgate.store import SqlStore
from tests.soak import count
from tests.survival.client import Client, http
from tests.survival.concurrent_clients import Race, in_log
from tests.survival.replica import replica, settings_of
from tests.survival.replicas import Facts, facts_in, two

OPERATIONS, SOAK_OPERATIONS = 500, 10_000
PAIRS = 5


@dataclass(frozen=True)
class Served:
    """A deployment: the folder of its test data, its store, and the test data."""

    folder: Path
    store_url: str | None
    facts: Facts
    revision: int
    """The newest revision before the race."""


def prepared(folder: Path, store_url: str | None) -> Served:
    """Create the test data, and close the deployment, so that others can open it."""
    deployment = open_deployment(settings_of(folder, store_url))
    facts = facts_in(deployment, PAIRS)
    revision = deployment.home.control.snapshot.revision
    deployment.close()
    return Served(folder, store_url, facts, revision)


@contextmanager
def clients(how: str, served: Served) -> Iterator[list[Client]]:
    """Serve the deployment, and yield the owner's client at each replica."""
    with http() as connections:
        if how == "sqlite":
            with replica(served.folder) as address:
                yield [Client(connections, address, served.facts.owner)]
        else:
            assert served.store_url is not None
            with two(how, served.folder, served.store_url) as addresses:
                yield [Client(connections, each, served.facts.owner) for each in addresses]


@pytest.fixture
def served(how: str, tmp_path: Path, request: pytest.FixtureRequest) -> Served:
    return prepared(tmp_path, None if how == "sqlite" else request.getfixturevalue("postgres_url"))


@pytest.fixture
def owners(how: str, served: Served) -> Iterator[list[Client]]:
    with clients(how, served) as opened:
        yield opened


def raced(how: str, served: Served, operations: int, seed: int = 5, *, others: bool = True) -> int:
    """Race, compare the log with the responses, and return the number of revokes that the next check obeyed."""
    with clients(how, served) as owners:
        told = Race(owners, served.facts.pairs, operations, seed, others=others).run()
        revisions = {each.send("GET", "/api/v1/me").json()["revision"] for each in owners}
    deployment = open_deployment(settings_of(served.folder, served.store_url))
    try:
        store = deployment.stores.log(deployment.home.id)
        assert isinstance(store, SqlStore)
        store.verify()
        assert in_log(store, served.facts.pairs, served.revision) == told.written
        assert revisions == {store.head().revision} == {served.revision + len(told.written)}
    finally:
        deployment.close()
    assert told.operations == operations
    # The first pair has many writers, so no check can know which write was the last.
    shared = served.facts.pairs[0].user
    revokes = sum(what == "take" and user != shared for what, user in told.written.values())
    count(f"{how}: {operations} operations that race, {revokes} revokes, each obeyed by the next check elsewhere")
    return revokes


def at_once(owners: list[Client], call: Callable[[Client], httpx.Response]) -> list[httpx.Response]:
    """Return the answers to two simultaneous calls, one to each replica if there are two."""
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(call, [owners[0], owners[-1]]))


@pytest.mark.parametrize("how", ["threads", "processes", "sqlite"])
class TestARace:
    def test_racing_grants_and_revokes_are_obeyed_by_every_replica_and_none_is_lost(
        self, how: str, served: Served
    ) -> None:
        raced(how, served, OPERATIONS)

    @pytest.mark.soak
    @pytest.mark.timeout(600)
    def test_a_long_race_of_grants_and_revokes_is_obeyed_by_every_replica(self, how: str, served: Served) -> None:
        raced(how, served, SOAK_OPERATIONS)


@pytest.mark.parametrize("how", ["threads", "sqlite"])
class TestTwoClientsAtOnce:
    def test_two_concurrent_clients_cannot_both_create_one_name(self, owners: list[Client]) -> None:
        for number in range(10):
            body = {"name": f"same{number}"}
            answers = at_once(owners, lambda owner, body=body: owner.send("POST", "/api/v1/databases", body))

            assert sorted(each.status_code for each in answers) == [201, 409]

    def test_two_concurrent_requests_with_one_idempotency_key_get_the_same_answer(
        self, served: Served, owners: list[Client]
    ) -> None:
        for number, pair in enumerate(served.facts.pairs):
            answers = at_once(owners, lambda owner, pair=pair, key=f"key-{number}": owner.give(pair, key))

            assert [each.status_code for each in answers] == [201, 201]
            assert len({each.json()["revision"] for each in answers}) == 1

    def test_a_revoked_token_is_refused_by_every_replica_at_once(self, served: Served, owners: list[Client]) -> None:
        here, there = owners[0], owners[-1]
        for pair in served.facts.pairs:
            user = Client(there.http, there.address, pair.token)
            assert user.send("GET", "/api/v1/me").status_code == 200

            id = pair.token.split(".")[1]
            answer = Client(here.http, here.address, pair.token).send("DELETE", f"/api/v1/tokens/{id}")

            assert answer.status_code == 200, answer.text
            assert user.send("GET", "/api/v1/me").status_code == 401
            assert user.ask(pair).status_code == 401
