"""Workers, the driver and the server are killed at random moments: all runs and tables end as without the kills."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headgate.app.deployment import open_deployment
from headgate.control.kernel.run_queue import ENDED_STATES, SUCCEEDED
from headgate.spark.sql.client import connect
from headgate.spark.toolchain.prepare import Toolchain
from tests.soak import count
from tests.survival.processes import Workshop, settings_of
from tests.survival.replicas import WITHIN

KILLS = ("worker", "driver", "worker", "server", "worker")
SOAK_KILLS = 17
"""The kills of each of three tests."""
BASE = 1_000
LONG = 360.0
"""Seconds until the running work ends after a kill; generous, because machines are shared."""

PIPELINES: dict[str, dict[str, Any]] = {
    "total": {"into": "lake.raw.total", "sql": "SELECT sum(n) AS n FROM lake.raw.base"},
    "each": {"into": "lake.raw.each", "sql": "SELECT count(*) AS n FROM lake.raw.base", "mode": "append"},
    "keyed": {
        "into": "lake.raw.keyed",
        "sql": "SELECT n, n * 2 AS m FROM lake.raw.base",
        "mode": "merge",
        "keys": ["n"],
    },
}


class Owner:
    """The owner of a deployment, at the current address of its server."""

    def __init__(self, workshop: Workshop, token: str) -> None:
        self.workshop = workshop
        self.token = token
        self._http = httpx.Client(trust_env=False, timeout=WITHIN, headers={"authorization": f"Bearer {token}"})

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON response to a call."""
        answer = self._http.request(method, f"{self.workshop.url}/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        spark = connect(self.workshop.settings.gateway_port, self.token)
        try:
            return [tuple(row) for row in spark.sql(statement).collect()]
        finally:
            spark.stop()


@pytest.fixture
def owner(toolchain: Toolchain, tmp_path: Path, postgres_url: str, free_port: int) -> Iterator[Owner]:
    assert toolchain.guard_jar.exists()
    settings = settings_of(tmp_path, postgres_url, free_port)
    open_deployment(settings).close()
    workshop = Workshop(settings)
    workshop.start()
    try:
        found = Owner(workshop, settings.owner_token.read_text(encoding="utf-8").strip())
        found.call("POST", "/databases", {"name": "raw"})
        found.sql(f"CREATE TABLE lake.raw.base AS SELECT id AS n FROM range({BASE})")
        for name, more in PIPELINES.items():
            definition = {"kind": "query", "name": name, "inputs": ["lake.raw.base"], **more}
            found.call("PUT", f"/pipelines/{name}", definition)
        yield found
    finally:
        workshop.end()


def survived(owner: Owner, kills: list[str], seed: int) -> None:
    """Kill processes while runs are running, and compare the runs and tables with the expected result."""
    chance, queued = random.Random(seed), list[str]()  # noqa: S311 (random numbers of a test)
    for what in kills:
        queued += [owner.call("POST", f"/pipelines/{name}/runs")["run"] for name in PIPELINES]
        time.sleep(chance.uniform(0.0, 4.0))
        owner.workshop.kill(what)
    _wait(owner, queued)

    ended = [owner.call("GET", f"/runs/{run}") for run in queued]
    assert {each["state"] for each in ended} == {SUCCEEDED}, [each for each in ended if each["state"] != SUCCEEDED]
    assert owner.sql("SELECT n FROM lake.raw.total") == [(BASE * (BASE - 1) // 2,)]
    assert owner.sql("SELECT n FROM lake.raw.each") == [(BASE,)] * len(kills)
    assert owner.sql("SELECT count(*), sum(n), sum(m) FROM lake.raw.keyed") == [
        (BASE, BASE * (BASE - 1) // 2, BASE * (BASE - 1))
    ]


def _wait(owner: Owner, runs: list[str]) -> None:
    deadline = time.monotonic() + LONG
    while runs:
        assert time.monotonic() < deadline, [owner.call("GET", f"/runs/{run}") for run in runs]
        time.sleep(0.5)
        runs = [run for run in runs if owner.call("GET", f"/runs/{run}")["state"] not in ENDED_STATES]


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_every_run_and_table_ends_as_expected_after_random_kills(owner: Owner) -> None:
    survived(owner, sorted(set(KILLS)), seed=3)


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_run_and_table_ends_as_expected_after_many_random_kills(owner: Owner, seed: int) -> None:
    chance = random.Random(16 + seed)  # noqa: S311 (random numbers of a test)
    kills = [chance.choice(KILLS) for _ in range(SOAK_KILLS)]
    survived(owner, kills, seed=4 + seed)

    count(f"{dict(Counter(kills))} killed, {len(kills) * len(PIPELINES)} runs, all ended as they should")
