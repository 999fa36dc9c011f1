"""Runs on a real standalone cluster: executed, guarded and cancelled there, and queued while it is down."""

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from headgate.app.background import run_in_background
from headgate.app.server import Server
from headgate.app.settings.clusters import read_clusters
from headgate.app.settings.settings import Settings
from headgate.cli.demo.people import Person, Persona
from headgate.facts.ids import ResourceId, RunId
from headgate.spark.gateway.session_bindings import PRINCIPAL_KEY
from headgate.spark.sql.client import connect
from headgate.spark.toolchain.prepare import Toolchain, default_cache
from tests.app.server_process import until
from tests.egress import OPEN
from tests.fakes.runs import begin, end
from tests.postgres import USER, PostgresServer
from tests.spark.guard.standalone import Standalone, standalone
from tests.spark.guard.strangers import answers, is_known, listening_ports

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

REFUSED = "42501"
LONG = "SELECT sum(a.n + b.id) FROM lake.raw.t a CROSS JOIN range(100000000000) b"
PIPELINE = {
    "kind": "query",
    "name": "totals",
    "cluster": "big",
    "inputs": ["lake.raw.t"],
    "into": "lake.raw.totals",
    "sql": "SELECT sum(n) AS total FROM lake.raw.t",
}


class Scene:
    """A server whose owner has one pipeline on a cluster."""

    def __init__(self, server: Server, cluster: Standalone) -> None:
        token = server.settings.owner_token.read_text(encoding="utf-8").strip()
        self.server = server
        self.cluster = cluster
        self.owner = Person(Persona("owner", "", ()), token, server.url, server.gateway_port)
        for name in ("raw", "secret"):
            self.owner.call("POST", "/databases", {"name": name})
        for table in ("raw.t", "raw.linked", "secret.s"):
            self.owner.spark.sql(f"CREATE TABLE lake.{table} AS SELECT id AS n FROM range(10)")
        self.pipeline = ResourceId(self.owner.call("PUT", "/pipelines/totals", PIPELINE)["id"])
        # The first run starts the driver of the cluster, which takes longer than the clients of the tests wait.
        self.until_ended(self.triggered(), "succeeded")

    def triggered(self) -> str:
        """Trigger a run; return its id."""
        return str(self.owner.call("POST", "/pipelines/totals/runs")["run"])

    def run(self, run: str) -> dict[str, Any]:
        """Return the state of a run."""
        return dict(self.owner.call("GET", f"/runs/{run}"))

    def until_ended(self, run: str, state: str) -> None:
        """Wait until a run has ended; it must end in this state."""
        until(lambda: self.run(run)["ended"], lambda: str(self.run(run)))
        assert self.run(run)["state"] == state, self.run(run)


@pytest.fixture(scope="module")
def scene(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One cluster and one server."""
    folder = tmp_path_factory.mktemp("clusters")
    with standalone(toolchain, folder / "cluster") as cluster:
        file = folder / "clusters.toml"
        file.write_text(cluster.file, encoding="utf-8")
        settings = Settings(
            folder / "data",
            default_cache({}),
            None,
            api_port=0,
            gateway_port=0,
            clusters=read_clusters(file),
            egress=OPEN,
        )
        with run_in_background(settings, print) as server:
            made = Scene(server, cluster)
            yield made
            made.owner.close()


@pytest.fixture
def session(scene: Scene, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A Spark session of a run of the pipeline, begun by a fake worker on the cluster."""
    home, run = scene.server.deployment.home, RunId(f"r-{request.node.name}"[:60])
    spark = connect(scene.server.gateway_port, begin(home.control, home.store, run, scene.pipeline, "big"))
    yield spark
    spark.stop()
    if run in home.control.snapshot.runs:
        end(home.control, home.store, run)


def refusal(work: Callable[[], object]) -> tuple[str | None, str]:
    """Return the SQLSTATE and the message of a call that must fail."""
    with pytest.raises(PySparkException) as raised:
        work()
    return raised.value.getSqlState(), str(raised.value).split("JVM stacktrace")[0]


def test_a_run_is_executed_on_its_cluster(scene: Scene) -> None:
    run = scene.triggered()

    scene.until_ended(run, "succeeded")

    assert scene.cluster.executors()
    assert scene.run(run)["cluster"] == "big"
    assert [row.total for row in scene.owner.spark.table("lake.raw.totals").collect()] == [45]


def test_the_guard_refuses_hidden_tables_on_a_cluster(session: SparkSession) -> None:
    assert session.table("lake.raw.t").count() == 10
    assert refusal(session.table("lake.secret.s").collect)[0] == REFUSED
    assert refusal(session.table("lake.raw.linked").collect)[0] == REFUSED


def test_executors_connect_to_a_database_with_the_access_of_their_driver(
    scene: Scene, postgres: PostgresServer
) -> None:
    name, home, run = postgres.create(), scene.server.deployment.home, RunId("r-orders")
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute("CREATE TABLE orders AS SELECT i AS id FROM generate_series(1, 100) i")
    place = {"host": "127.0.0.1", "port": postgres.port, "database": name, "user": USER}
    scene.owner.call("POST", "/connections", {"name": "shop", "postgresql": place})
    streams = [{"name": "orders", "table": "public.orders", "into": "lake.raw.orders"}]
    source = {"kind": "source", "name": "orders", "connection": "shop", "cluster": "big", "streams": streams}
    pipeline = ResourceId(scene.owner.call("PUT", "/pipelines/orders", source)["id"])
    spark = connect(scene.server.gateway_port, begin(home.control, home.store, run, pipeline, "big"))
    try:
        shop = {"connection": "shop", "dbtable": "orders"}
        parts = {"partitioncolumn": "id", "lowerbound": "1", "upperbound": "100", "numpartitions": "2"}
        assert spark.read.format("jdbc").options(**shop, **parts).load().where("id > 50").count() == 50
        spark.range(5).write.format("jdbc").options(connection="shop", dbtable="made").mode("append").save()
        with psycopg.connect(postgres.url(name)) as connection:
            assert connection.execute("SELECT count(*) FROM made").fetchone() == (5,)
    finally:
        spark.stop()
        end(home.control, home.store, run)
        postgres.drop(name)


def test_a_file_outside_its_table_is_not_read_by_executors(scene: Scene, session: SparkSession, tmp_path: Path) -> None:
    (row,) = scene.owner.spark.sql("SELECT file_path FROM lake.raw.t.files LIMIT 1").collect()
    data = Path(row.file_path.removeprefix("file://").removeprefix("file:"))
    outside = tmp_path / data.name
    data.rename(outside)
    data.symlink_to(outside)
    try:
        _, words = refusal(session.table("lake.raw.t").collect)
    finally:
        outside.replace(data)

    assert "outside the table's location" in words


@pytest.mark.skipif(sys.platform != "linux", reason="ports of a process are listed in /proc on Linux alone")
def test_an_unauthenticated_process_gets_nothing_at_driver_and_executor_ports(
    scene: Scene, session: SparkSession
) -> None:
    assert session.table("lake.raw.t").count() == 10
    drivers = scene.server._side._drivers  # pyright: ignore[reportPrivateUsage] (no public name for its process)
    driver, _ = drivers.get(scene.server.deployment.home, "big")
    assert driver is not None
    assert driver.pid is not None
    connect_port = int(driver.address.rpartition(":")[2])

    ports = set[int]().union(*map(listening_ports, [driver.pid, *scene.cluster.executors()])) - {connect_port}
    token = scene.server.settings.owner_token
    said = {(port, what): answer for port in ports for what, answer in answers(port, token).items()}

    assert len(ports) >= 3
    assert {what: answer for what, answer in said.items() if is_known(answer)} == {}


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="processes show their environment in /proc on Linux alone")
def test_an_executor_has_no_secret_of_its_driver(scene: Scene, session: SparkSession) -> None:
    assert session.table("lake.raw.t").count() == 10
    drivers = scene.server._side._drivers  # pyright: ignore[reportPrivateUsage] (no public name for its secrets)
    driver, _ = drivers.get(scene.server.deployment.home, "big")
    (executor, *_) = scene.cluster.executors()

    seen = b"".join(Path(f"/proc/{executor}/{each}").read_bytes() for each in ("environ", "cmdline"))

    told = "".join(each.read_text(encoding="utf-8") for each in scene.cluster.events.rglob("*") if each.is_file())

    assert driver is not None
    assert "spark.sql.catalog.lake.token-handle" in told
    assert [secret for secret in (driver.token, driver.key.hex()) if secret in told] == []
    shown = re.findall(rf'"{re.escape(PRINCIPAL_KEY)}":"([^"]*)"', told)
    assert set(shown) == {"*********(redacted)"}
    assert len(shown) == told.count(PRINCIPAL_KEY)
    assert b"CoarseGrainedExecutorBackend" in seen
    assert not any(secret in seen for secret in (driver.token.encode(), driver.key.hex().encode()))


@pytest.mark.soak
def test_a_job_on_a_cluster_is_interrupted_when_its_run_ends(scene: Scene, session: SparkSession) -> None:
    home, failed = scene.server.deployment.home, list[str]()
    begun = threading.Event()

    def under_way(*, inflight_tasks: int, **_: object) -> None:
        if inflight_tasks:
            begun.set()

    session.registerProgressHandler(under_way)  # pyright: ignore[reportArgumentType] (the function is only called)
    working = threading.Thread(target=lambda: failed.append(refusal(session.sql(LONG).collect)[1]))
    working.start()
    until(begun.is_set, lambda: str(failed))

    end(home.control, home.store, next(iter(home.control.snapshot.runs)), "cancelled")
    working.join(30)

    assert "the run has ended" in failed[0]


@pytest.mark.soak
def test_an_executor_that_dies_is_replaced(scene: Scene, session: SparkSession) -> None:
    assert session.table("lake.raw.t").count() == 10
    for executor in scene.cluster.executors():
        os.kill(executor, signal.SIGKILL)

    assert session.table("lake.raw.t").count() == 10


@pytest.mark.soak
def test_a_run_on_a_cluster_without_a_master_waits_and_reports_it(scene: Scene) -> None:
    scene.cluster.master.kill()
    scene.cluster.worker.kill()
    run = ""

    def waits() -> bool:
        nonlocal run
        run = run or scene.triggered()
        return "no master of the cluster `big` answers" in (scene.run(run)["why"] or "")

    until(waits, lambda: str(scene.run(run)))
    scene.cluster.begin_master()
    scene.cluster.begin_worker()

    scene.until_ended(run, "succeeded")
