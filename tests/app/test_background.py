"""Background tasks that fail with an unexpected exception: each is reported, restarted, and then keeps its promise."""

import ast
import asyncio
import os
import signal
import sys
import threading
import time
from asyncio.subprocess import Process, create_subprocess_exec
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from typing_extensions import override

from headgate.app import maintenance as housekeeping_module
from headgate.app.deployment import Deployment
from headgate.app.http.middleware import build_front
from headgate.app.http.server import InternalServer
from headgate.app.maintenance import Housekeeping
from headgate.app.spark import drivers as drivers_module
from headgate.app.spark.drivers import Drivers, _DriverSlot  # pyright: ignore[reportPrivateUsage]
from headgate.app.spark.service import SparkService
from headgate.control.kernel.audit_records import AuditRecord
from headgate.control.kernel.ports import StoreError
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.control.organizations import audit_recorder as audit_module
from headgate.control.organizations.audit_recorder import AuditRecorder
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.endpoints.http.tls import Certificate
from headgate.facts.ids import PrincipalId, ResourceId, RunId
from headgate.pipelines.execution import worker as worker_module
from headgate.pipelines.lineage import emitter
from headgate.pipelines.lineage.emitter import Receiver, Sending
from headgate.pipelines.lineage.recorder import RunTrace
from headgate.spark.authority import OperationReport
from headgate.spark.driver import driver as driver_module
from headgate.spark.driver.clusters import Cluster, Clusters
from headgate.spark.driver.driver import Driver, DriverState
from headgate.spark.driver.liveness import Liveness
from headgate.spark.gateway.process import supervisor as process_module
from headgate.spark.gateway.process.config import ProcessConfig
from headgate.spark.gateway.process.supervisor import GatewayProcess, GatewayState
from headgate.spark.process_supervisor import Supervisor
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.endpoints.http.asgi_client import asks
from tests.endpoints.http.test_tls import issue
from tests.fakes.store import FakeStores
from tests.pipelines.fake_worker import QUICK, Clock, Work, lasting, opened, queued, row, runs, until, worker
from tests.threads import served

COVERED: Final = {
    "audit": "test_the_audit_loses_no_record_after_an_unexpected_error",
    "housekeeping": "test_housekeeping_continues_after_an_unexpected_error",
    "worker": "test_the_worker_starts_runs_after_an_unexpected_error",
    "lineage": "test_lineage_is_sent_after_an_unexpected_error",
    "listener": "tests/store/test_postgresql.py",
    "supervision of the gateway": "test_a_gateway_that_ends_is_started_again",
    "supervision of the driver {}": "test_a_driver_that_ends_is_started_again",
    "watch of the master of {}": "test_a_driver_ends_when_the_watch_of_its_master_fails",
    "watch of the answers of the driver {}": "test_an_unresponsive_driver_is_ended",
    "end of idle drivers": "test_idle_drivers_are_stopped_after_an_unexpected_error",
    "watch of the certificate": "test_a_renewed_certificate_is_read_after_an_unexpected_error",
    "answers for the gateway": "test_the_readiness_check_reports_the_end_of_the_internal_server",
    "revocation watch of the gateway": "test_a_gateway_that_sends_no_reports_counts_as_unwatched",
    "release of abandoned sessions": "tests/spark/test_abandoned_sessions.py",
    "build of the class-data archive": "tests/app/spark/test_service.py",
    "database relay": "tests/spark/driver/test_database_relay.py",
    "revocation watch": "tests/spark/gateway/test_revocation_watch.py",
    "watch of the revocation watch": "tests/spark/gateway/test_revocation_watch.py",
}
"""For each task, by its name, the test that makes it fail."""

RECORD: Final = AuditRecord(1.0, PrincipalId("ann"), "table.select", "lake.raw.t", allowed=False, revision=1)
ROOT: Final = ResourceId("o-1")


class Once:
    """Raises an unexpected error at the first call, and then behaves like the function that it replaces."""

    def __init__(self, works: Callable[..., Any]) -> None:
        self.works = works
        self.calls = 0

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        self.calls += 1
        if self.calls == 1:
            raise ZeroDivisionError("unexpected")
        return self.works(*arguments, **more)


def names() -> Iterator[str]:
    """Yield the names of the tasks that the program starts; a computed part of a name is `{}`."""
    for file in sorted(Path("src/headgate").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            function = node.func if isinstance(node, ast.Call) else None
            if isinstance(function, ast.Attribute) and function.attr in ("start_thread", "start_task", "add_check"):
                assert isinstance(node, ast.Call)
                yield _text(node.args[0])


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
    assert isinstance(node, ast.Constant)
    return str(node.value)


def test_every_background_task_has_a_test_that_ends_it() -> None:
    own = {each for each in globals() if each.startswith("test_")}

    assert set(names()) == set(COVERED)
    assert all(each in own or Path(each).is_file() for each in COVERED.values())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("background")) as opened:
        yield opened


def test_the_readiness_check_names_a_task_that_is_not_running(world: DeploymentHarness) -> None:
    here = asks(build_front(world.app, world.deployment).app)
    remove = world.deployment.tasks.add_check("seal", lambda: False, "entries of the log are not sealed")

    answer = here("GET", "/readyz")
    metrics = here("GET", "/metrics").text
    remove()

    assert answer.status_code == 503
    assert "`seal` is not running; until it restarts, entries of the log are not sealed" in answer.json()["detail"]
    assert 'headgate_tasks{task="seal"} 0.0' in metrics
    assert 'headgate_task_deaths_total{task="audit"} 0.0' in metrics


def test_the_audit_loses_no_record_after_an_unexpected_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stores, tasks = FakeStores(), BackgroundTasks()
    monkeypatch.setattr(stores, "audit", Once(stores.audit))
    audit = AuditRecorder(stores, tasks=tasks)

    audit.record(ROOT, RECORD)
    until(lambda: stores.records == [(ROOT, RECORD)])
    audit.record(ROOT, RECORD)
    audit.close()

    assert tasks.deaths["audit"] == 1
    assert len(stores.records) == 2


def test_housekeeping_continues_after_an_unexpected_error(
    world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Once(world.deployment.organizations.keep)
    monkeypatch.setattr(world.deployment.organizations, "keep", keep)
    monkeypatch.setattr(housekeeping_module, "MAINTENANCE_SECONDS", 0.01)
    before = world.deployment.tasks.deaths.get("housekeeping", 0)

    housekeeping = Housekeeping(world.deployment)
    until(lambda: keep.calls > 1)
    housekeeping.close()

    assert world.deployment.tasks.deaths["housekeeping"] == before + 1


def test_the_worker_starts_runs_after_an_unexpected_error(monkeypatch: pytest.MonkeyPatch) -> None:
    organization, tasks = opened(Clock(1_000_000.0)), BackgroundTasks()
    working = worker(organization, Work())
    monkeypatch.setattr(working, "_supervise", Once(working._supervise))  # pyright: ignore[reportPrivateUsage]

    working.start(tasks)
    queued(organization, "one")
    until(lambda: row(organization, "one").ended is not None)
    working.stop()

    assert tasks.deaths["worker"] == 1
    assert [each.state for each in runs(organization)] == ["succeeded"]


@pytest.mark.parametrize("how", ["fails", "hangs"])
def test_the_readiness_check_names_the_worker_while_its_attempts_are_not_supervised(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    organization, tasks = opened(Clock(1_000_000.0)), BackgroundTasks()
    working = worker(organization, Work({"one": [lasting]}), replace(QUICK, lease=0.5))
    working.start(tasks)
    queued(organization, "one")
    until(lambda: working.under_way == 1)
    until(lambda: tasks.not_ready_reason() is None)
    works, mended = worker_module._RunningAttempt.look_after, threading.Event()  # pyright: ignore[reportPrivateUsage]

    def look_after(under_way: Any) -> None:
        if how == "fails" and not mended.is_set():
            raise ZeroDivisionError("unexpected")
        mended.wait()
        works(under_way)

    monkeypatch.setattr(worker_module._RunningAttempt, "look_after", look_after)  # pyright: ignore[reportPrivateUsage]

    until(lambda: "outlive revoked privileges" in str(tasks.not_ready_reason()))
    assert tasks.deaths["worker"] == 0
    mended.set()
    until(lambda: tasks.not_ready_reason() is None)
    working.stop()


def test_the_readiness_check_names_an_audit_with_a_write_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "_LATE", 0.3)
    monkeypatch.setattr(audit_module, "_IDLE", 0.01)
    stores, tasks, mended = FakeStores(), BackgroundTasks(), threading.Event()
    works = stores.audit

    def hang(records: Any) -> None:
        mended.wait()
        works(records)

    monkeypatch.setattr(stores, "audit", hang)
    audit = AuditRecorder(stores, tasks=tasks)
    audit.record(ROOT, RECORD)

    until(lambda: "decisions are missing from the audit" in str(tasks.not_ready_reason()))
    mended.set()
    until(lambda: tasks.not_ready_reason() is None)
    audit.close()

    assert stores.records == [(ROOT, RECORD)]


def test_the_readiness_check_names_housekeeping_that_fails_repeatedly(
    world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_away = [True]

    def keep() -> None:
        if is_away[0]:
            raise StoreError("the store is away")

    monkeypatch.setattr(world.deployment.organizations, "keep", keep)
    monkeypatch.setattr(housekeeping_module, "MAINTENANCE_SECONDS", 0.05)
    tasks = world.deployment.tasks

    housekeeping = Housekeeping(world.deployment)
    until(lambda: "`housekeeping`" in str(tasks.not_ready_reason()))
    is_away[0] = False
    until(lambda: tasks.not_ready_reason() is None)
    housekeeping.close()


def test_lineage_is_sent_after_an_unexpected_error(monkeypatch: pytest.MonkeyPatch) -> None:
    organization, tasks, received = opened(Clock(1_000_000.0)), BackgroundTasks(), list[bytes]()
    queued(organization, "one")
    monkeypatch.setattr(emitter.httpx, "Client", Once(emitter.httpx.Client))

    async def receive(request: Any) -> Response:
        received.append(await request.body())
        return Response()

    with served(Starlette(routes=[Route("/", receive, methods=["POST"])])) as url:
        sending = Sending(Receiver(url), tasks=tasks)
        sending.send(organization, row(organization, RunId("one")), RunTrace())
        until(lambda: len(received) == 1)
        sending.close()

    assert tasks.deaths["lineage"] == 1


class DyingSupervisor(Supervisor):
    """A supervisor of a process that fails once with an unexpected error."""

    failed = 0

    @override
    async def keep_up(
        self, process: Callable[[], Process | None], ended: Callable[[int], str], again: Callable[[], str]
    ) -> None:
        DyingSupervisor.failed += 1
        if DyingSupervisor.failed == 1:
            raise ZeroDivisionError("unexpected")
        await super().keep_up(process, ended, again)


async def _sleeper() -> Process:
    return await create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(60)")


async def _is_started_again(child: Any, tasks: BackgroundTasks) -> None:
    """Kill the child's process after its supervision has failed once; return once another process runs."""
    await child.start()
    await _until(lambda: DyingSupervisor.failed == 2)
    first = child.pid
    os.kill(first, signal.SIGKILL)
    await _until(lambda: child.pid not in (None, first))
    await child.stop()
    assert sum(tasks.deaths.values()) == 1


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 (what it waits for has no event)
            await asyncio.sleep(0.01)


def test_a_gateway_that_ends_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def launch(gateway: GatewayProcess) -> None:
        gateway._process = await _sleeper()  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(DyingSupervisor, "failed", 0)
    monkeypatch.setattr(process_module, "Supervisor", DyingSupervisor)
    monkeypatch.setattr(GatewayProcess, "_launch", launch)
    tasks, told = BackgroundTasks(), ProcessConfig("127.0.0.1", 0, 0, "", "", drain_seconds=0)

    asyncio.run(_is_started_again(GatewayProcess(told, lambda: None, lambda _: None, tasks), tasks))


class DriverSettings:
    """The part of a driver's settings that its supervision reads."""

    name = "home"
    cluster = Cluster("big", "spark://127.0.0.1:1")


def _driver(tasks: BackgroundTasks) -> Driver:
    settings: Any = DriverSettings()
    return Driver(settings, tasks=tasks)


def test_a_driver_that_ends_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def launch(driver: Driver) -> None:
        driver._process = await _sleeper()  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(DyingSupervisor, "failed", 0)
    monkeypatch.setattr(driver_module, "Supervisor", DyingSupervisor)
    monkeypatch.setattr(driver_module, "_BACK_OFF", (0.01,))
    monkeypatch.setattr(Driver, "_launch", launch)
    tasks = BackgroundTasks()

    asyncio.run(_is_started_again(_driver(tasks), tasks))


def test_a_driver_ends_when_the_watch_of_its_master_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "wait_until_lost", Once(_nothing))
    tasks = BackgroundTasks()

    async def watched() -> None:
        process = await _sleeper()
        _driver(tasks)._watch_master(process)  # pyright: ignore[reportPrivateUsage]
        await asyncio.wait_for(process.wait(), 20)

    asyncio.run(watched())

    assert tasks.deaths == {"watch of the master of big": 1}


def test_an_unresponsive_driver_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Liveness, "wait_until_stuck", Once(_stuck))
    tasks = BackgroundTasks()
    driver = _driver(tasks)

    async def watched() -> None:
        process = await _sleeper()
        driver._watch_answers(process)  # pyright: ignore[reportPrivateUsage]
        await asyncio.wait_for(process.wait(), 20)

    asyncio.run(watched())

    assert tasks.deaths == {"watch of the answers of the driver home": 1}
    assert driver.hangs == 1


def _spark_service(deployment: Deployment) -> SparkService:
    return SparkService(deployment, FreshnessBarrier(deployment.organizations), lambda _: None)


def test_the_readiness_check_reports_an_unresponsive_driver(world: DeploymentHarness) -> None:
    class Home:
        state = DriverState.SERVING
        is_answering = True

    class Gateway:
        state = GatewayState.SERVING

    side, home, gateway = _spark_service(world.deployment), Home(), Gateway()
    held: Any = {(world.deployment.home.id, "embedded"): _DriverSlot(_any(home), Cluster("embedded"), 0.0)}
    side._drivers._held = held  # pyright: ignore[reportPrivateUsage]
    side._gateway = _any(gateway)  # pyright: ignore[reportPrivateUsage]
    front = build_front(world.app, world.deployment)
    front.readiness.details = lambda: {"spark": side.state}

    answers = [asks(front.app)("GET", "/readyz").json()]
    home.is_answering = False
    answers.append(asks(front.app)("GET", "/readyz").json())

    assert [each["spark"] for each in answers] == ["ready", "unresponsive"]


async def _nothing(*_: object) -> None:
    return


async def _stuck(*_: object) -> str:
    return "has not responded"


def test_idle_drivers_are_stopped_after_an_unexpected_error(
    world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers_module, "_LOOK_SECONDS", 0.01)
    tasks, deployment = BackgroundTasks(), world.deployment
    drivers = Drivers(deployment.organizations, deployment.home, (), Clusters(Cluster("embedded")), tasks=tasks)
    end_unused = Once(drivers.stop_idle)
    monkeypatch.setattr(drivers, "stop_idle", end_unused)

    class Started:
        start = stop = staticmethod(_nothing)

    async def begun() -> None:
        await drivers.start_home(lambda *_: _any(Started()))
        await _until(lambda: end_unused.calls > 2)
        await drivers.end()

    asyncio.run(begun())

    assert tasks.deaths["end of idle drivers"] == 1


def _any(found: object) -> Any:
    return found


def test_a_renewed_certificate_is_read_after_an_unexpected_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, tasks = Certificate(*issue(tmp_path, "first")), BackgroundTasks()
    renew = Once(certificate.renew)
    monkeypatch.setattr(certificate, "renew", renew)

    async def watched() -> None:
        watch: Callable[[], Awaitable[None]] = lambda: certificate.watch(0.01)  # noqa: E731 (a typed lambda)
        task = tasks.start_task("watch of the certificate", watch, "a renewed TLS certificate is not read")
        issue(tmp_path, "second")
        await _until(lambda: renew.calls > 1)
        await task.stop()

    asyncio.run(watched())

    assert tasks.deaths["watch of the certificate"] == 1


def test_the_readiness_check_reports_the_end_of_the_internal_server() -> None:
    tasks = BackgroundTasks()

    async def served_alone() -> str | None:
        alone = InternalServer(Starlette(), tasks)
        await alone.begin()
        assert tasks.not_ready_reason() is None
        assert alone._serving is not None  # pyright: ignore[reportPrivateUsage]
        alone._server.should_exit = True  # pyright: ignore[reportPrivateUsage]
        await asyncio.wait({alone._serving})  # pyright: ignore[reportPrivateUsage]
        why = tasks.not_ready_reason()
        await alone.end()
        return why

    why = asyncio.run(served_alone())

    assert why is not None
    assert "answers for the gateway" in why
    assert tasks.not_ready_reason() is None


def test_a_gateway_that_sends_no_reports_counts_as_unwatched(world: DeploymentHarness) -> None:
    class Gateway:
        state = GatewayState.SERVING
        serving_since = time.monotonic()

    side = _spark_service(world.deployment)
    gateway: Any = Gateway()
    side._gateway = gateway  # pyright: ignore[reportPrivateUsage]

    is_watched = [side._is_watched()]  # pyright: ignore[reportPrivateUsage]
    gateway.serving_since -= 11
    is_watched.append(side._is_watched())  # pyright: ignore[reportPrivateUsage]
    side._authority.report(OperationReport())  # pyright: ignore[reportPrivateUsage]
    is_watched.append(side._is_watched())  # pyright: ignore[reportPrivateUsage]

    assert is_watched == [True, False, True]


def test_a_gateway_that_gets_no_answers_counts_as_unwatched(world: DeploymentHarness) -> None:
    class Gateway:
        state = GatewayState.SERVING
        serving_since = 0.0

    side = _spark_service(world.deployment)
    gateway: Any = Gateway()
    side._gateway = gateway  # pyright: ignore[reportPrivateUsage]

    side._authority.report(OperationReport(late=11.0))  # pyright: ignore[reportPrivateUsage]

    assert not side._is_watched()  # pyright: ignore[reportPrivateUsage]
