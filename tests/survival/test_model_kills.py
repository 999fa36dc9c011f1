"""`kill -9` of a server during an upgrade of a model: after a restart the former or the new version decides, whole."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from headgate.app.deployment import Deployment, open_deployment
from headgate.control.resources.commands import CreateResource
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.store import SqlStore
from tests.control.models.model_files import harbour
from tests.soak import count
from tests.survival.client import Client, http
from tests.survival.model_operators import OperatorClient, PortSecrets, create_port_with_secrets
from tests.survival.model_replicas import OPERATORS, PORT, ModelReplica, install, model_in_log
from tests.survival.replica import settings_of
from tests.survival.replicas import Replica, process

KILLS = 3
SOAK_PIECES, SOAK_KILLS = 2, 30
WITH_VOLUMES = harbour(4, "insert").replace("\nroles:", "  volume: {under: [database], implicit: true}\n\nroles:")
"""A version that creates a resource in each database: an upgrade to it is one entry with several changes."""
DECIDING = {1: 1, 2: 2, 3: 3, 4: 2}
"""Version -> the version by whose rules Ben may do what he may do."""
LONGEST = 0.05
"""Seconds from the request of an upgrade to the kill; at random, up to this."""
WITHIN = 60.0
"""Seconds until the first upgrades after a start; generous, because machines are shared."""


@dataclass
class Attempts:
    """The upgrades that one operator has sent, until the server was killed."""

    former: int = 1
    """The version after the last acknowledged upgrade."""
    wanted: int | None = None
    """The version of an upgrade that was not acknowledged."""
    acknowledged: int = 0
    unanswered: int = 0
    """The number of upgrades without an answer."""
    made: int = 0
    """The number of those that were made."""
    sent: threading.Event = field(default_factory=threading.Event)

    def upgrade(self, operator: OperatorClient, version: int) -> None:
        """Send an upgrade with the confirmation of its dry run."""
        body = {"model": "harbour", "version": version}
        confirmation = operator.confirm(body)
        self.wanted = version
        self.sent.set()
        answer = operator.change(body, confirmation)
        assert answer.status_code == 200, answer.text
        self.former, self.wanted, self.acknowledged = version, None, self.acknowledged + 1


def require_working(operator: OperatorClient, attempts: Attempts) -> None:
    """Require, after a restart, that an upgrade needs its confirmation, is made with it, and is undone."""
    version = attempts.former
    other = 2 if version == 1 else 1
    unconfirmed = operator.change({"model": "harbour", "version": other})
    assert unconfirmed.status_code == 409, unconfirmed.text
    assert operator.decides_by() == ("harbour", DECIDING[version])
    for each in (other, version):
        attempts.upgrade(operator, each)
        assert operator.decides_by() == ("harbour", DECIDING[each])


def kill_during_upgrade(server: Replica, secrets: PortSecrets, attempts: Attempts, chance: random.Random) -> None:
    """Upgrade and undo until the server is killed, a short time after one of the next upgrades was sent."""
    with http() as connections, ThreadPoolExecutor(1) as thread:
        operator = OperatorClient(Client(connections, server.address, secrets.operators[0]), secrets)
        require_working(operator, attempts)

        def upgrade() -> None:
            with suppress(httpx.TransportError):
                while True:
                    attempts.upgrade(operator, 3 if attempts.former == 4 else 4)

        enough, end = attempts.acknowledged + chance.randint(0, 2), time.monotonic() + WITHIN
        done = thread.submit(upgrade)
        while attempts.acknowledged < enough and not done.done() and time.monotonic() < end:
            time.sleep(0.001)
        attempts.sent.clear()
        attempts.sent.wait(0.0 if done.done() else WITHIN)
        time.sleep(chance.uniform(0.0, LONGEST))
        server.kill()
        done.result()


def require_whole(deployment: Deployment, attempts: Attempts) -> None:
    """Require that the log has the former or the new version, whole; count the upgrade without an answer."""
    organizations = deployment.organizations
    for id in (PORT, organizations.deployment.id):
        store = deployment.stores.log(id)
        assert isinstance(store, SqlStore)
        store.verify()
    replica = ModelReplica(organizations, Caller(OPERATORS[0]))
    _, version = model_in_log(organizations)
    assert version in {attempts.former, attempts.wanted}
    assert replica.decides_by() == ("harbour", DECIDING[version])
    facts = replica.port.control.snapshot
    databases = {id for id, each in facts.resources.items() if each.type == "database"}
    if version == 4:
        assert {each.parent for each in facts.resources.values() if each.type == "volume"} == databases
    upgrades = [each for each in replica.port.store.entries() if each.command == "model.upgrade"]
    authorized = [each for each in organizations.deployment.store.entries() if each.actor == OPERATORS[0]]
    is_made = version == attempts.wanted
    assert len(upgrades) == attempts.acknowledged + is_made
    assert len(authorized) >= len(upgrades)
    attempts.unanswered += attempts.wanted is not None
    attempts.made += is_made
    attempts.former, attempts.wanted, attempts.acknowledged = version, None, len(upgrades)


def kill_again_and_again(folder: Path, store_url: str | None, kills: int, seed: int) -> Attempts:
    """Repeat: kill a server during an upgrade, check the logs, restart on them."""
    chance, attempts = random.Random(seed), Attempts()  # noqa: S311 (a fixed seed, to repeat a failure)
    settings = settings_of(folder, store_url)
    with closing(open_deployment(settings)) as deployment:
        secrets = create_port_with_secrets(deployment)
        install(deployment.organizations, WITH_VOLUMES)
    for number in range(kills):
        with closing(open_deployment(settings)) as deployment:
            database = CreateResource(
                ResourceId(f"quay{number}"), "database", ResourceId("port/project/lake"), f"q{number}"
            )
            deployment.organizations.open(PORT).control.execute(database, None)
        with process(folder, store_url) as server:
            kill_during_upgrade(server, secrets, attempts, chance)
        with closing(open_deployment(settings)) as deployment:
            require_whole(deployment, attempts)
    return attempts


@pytest.fixture(params=["folder", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> str | None:
    return request.getfixturevalue("postgres_url") if request.param == "postgresql" else None


@pytest.mark.timeout(180)
def test_an_upgrade_is_whole_or_absent_after_a_kill(tmp_path: Path, store_url: str | None) -> None:
    assert kill_again_and_again(tmp_path, store_url, KILLS, seed=3).acknowledged >= 2 * KILLS


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("piece", range(SOAK_PIECES))
def test_an_upgrade_is_whole_or_absent_after_each_of_many_kills(
    tmp_path: Path, store_url: str | None, piece: int
) -> None:
    attempts = kill_again_and_again(tmp_path, store_url, SOAK_KILLS, seed=piece)

    count(
        f"{SOAK_KILLS} kills, {attempts.acknowledged} upgrades, {attempts.unanswered} without an answer, {attempts.made} of them made, "
        "none half"
    )
    assert attempts.acknowledged > SOAK_KILLS
    assert attempts.unanswered
