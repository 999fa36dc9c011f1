"""A failover that loses acknowledged log entries, seen over HTTP: no replica answers or writes based on them."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from headgate.app.deployment import open_deployment
from headgate.facts.ids import ResourceId
from headgate.store import FILE
from tests.survival.client import Client, http
from tests.survival.replica import replica, settings_of
from tests.survival.replicas import Facts, facts_in, two

Run = Callable[[str], None]


@dataclass(frozen=True)
class Served:
    """The test data, the owner at each server, and a function that changes the store without the servers."""

    facts: Facts
    root: ResourceId
    owners: list[Client]
    run: Run

    def lose(self) -> None:
        """Delete the newest entry of the organization's log, as a failover to a lagging standby does."""
        named = f"log_id = '{self.root}'"
        self.run(f"DELETE FROM log WHERE {named} AND revision = (SELECT max(revision) FROM log WHERE {named})")

    def damage(self) -> None:
        """Alter the newest entry, so that it no longer follows from the entry before it."""
        named = f"log_id = '{self.root}'"
        where = f"{named} AND revision = (SELECT max(revision) FROM log WHERE {named})"
        self.run(f"UPDATE log SET hash = 'x', previous_hash = 'y' WHERE {where}")


@pytest.fixture(params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    """One server on SQLite, or two replicas on PostgreSQL."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    deployment = open_deployment(settings_of(tmp_path, url))
    facts, root = facts_in(deployment, 2), deployment.home.id
    deployment.close()

    def run(statement: str) -> None:
        if url is not None:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(statement.encode())
        else:
            with closing(sqlite3.connect(tmp_path / FILE, timeout=10)) as file, file:
                file.execute(statement)

    with http() as connections:
        if url is None:
            with replica(tmp_path) as address:
                yield Served(facts, root, [Client(connections, address, facts.owner)], run)
        else:
            with two("threads", tmp_path, url) as addresses:
                yield Served(facts, root, [Client(connections, each, facts.owner) for each in addresses], run)


def test_a_lost_grant_is_honoured_by_no_server(served: Served) -> None:
    pair = served.facts.pairs[0]
    assert served.owners[0].give(pair).status_code == 201
    assert all(each.may(pair) for each in served.owners)

    served.lose()

    assert not any(each.may(pair) for each in served.owners)


def test_a_write_after_a_loss_succeeds(served: Served) -> None:
    first, second = served.facts.pairs
    served.owners[0].give(first)
    served.lose()

    assert served.owners[0].give(second).status_code == 201

    assert all(each.may(second) and not each.may(first) for each in served.owners)


def test_every_server_obeys_a_revoke_that_replaces_a_lost_entry(served: Served) -> None:
    kept, lost = served.facts.pairs
    here, there = served.owners[0], served.owners[-1]
    assert here.give(kept).status_code == 201
    assert here.give(lost).status_code == 201
    before = here.send("GET", "/api/v1/me").json()["revision"]
    served.lose()

    assert there.take(kept).status_code == 200

    assert not any(each.may(kept) or each.may(lost) for each in served.owners)
    assert {each.send("GET", "/api/v1/me").json()["revision"] for each in served.owners} == {before}


def test_questions_are_unavailable_while_the_log_cannot_be_read(served: Served) -> None:
    pair = served.facts.pairs[0]
    assert served.owners[0].give(pair).status_code == 201

    served.damage()

    for owner in served.owners:
        assert [owner.send("GET", "/api/v1/me").status_code for _ in range(2)] == [503, 503]
        assert Client(owner.http, owner.address, pair.token).ask(pair).status_code == 503
        assert owner.give(pair).status_code == 503
        assert owner.send("GET", "/readyz").status_code == 200
        assert owner.send("GET", "/metrics").status_code in (200, 404)
