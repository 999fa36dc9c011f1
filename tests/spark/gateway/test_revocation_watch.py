"""The revocation watch survives every error; while it does not work, the gateway serves nothing."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import grpc
import grpc.aio
import pytest

from headgate.spark.authority import OperationReport, Revocation, Revocations
from headgate.spark.deciding_authority import DecidingAuthority
from headgate.spark.gateway import revocation_watch
from headgate.spark.gateway.driver_channel import DriverBackend
from tests.spark.gateway.fake_backend import FakeBackend, fake_backend
from tests.spark.gateway.gateway_harness import RunningGateway, running_gateway
from tests.spark.gateway.raw_client import Client
from tests.spark.gateway.test_revocation_watch_cuts import DENIED, READ, WHY, Statement
from tests.threads import wait_until

REVOCATION_WATCH = "revocation watch"


@pytest.fixture
def backend() -> Iterator[FakeBackend]:
    with fake_backend() as running:
        running.held = True
        yield running


@pytest.fixture
def gateway(backend: FakeBackend, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningGateway]:
    monkeypatch.setattr(revocation_watch, "REVOCATION_CHECK_SECONDS", 0.05)
    monkeypatch.setattr(revocation_watch, "_LOOK_EVERY", 0.05)
    with running_gateway(backend.driver, "ann") as running:
        yield running


class Failing:
    """Raises an error at its first calls, and then calls the function that it replaces."""

    def __init__(self, error: BaseException, works: Any, times: int = 1) -> None:
        self.error = error
        self.works = works
        self.times = times
        self.called = 0

    async def __call__(self, *arguments: Any, **more: Any) -> Any:
        self.called += 1
        if self.called <= self.times:
            raise self.error
        return await self.works(*arguments, **more)


UNEXPECTED = [
    grpc.aio.UsageError("Channel is closed."),
    ZeroDivisionError("unexpected"),
    TimeoutError("unexpected"),
    asyncio.CancelledError("unexpected"),
]


@pytest.mark.parametrize("error", UNEXPECTED, ids=lambda error: type(error).__name__)
def test_a_revoke_ends_a_statement_after_a_report_has_failed(
    gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    statement = Statement(gateway, backend)
    failing = Failing(error, gateway.authority.report)
    monkeypatch.setattr(gateway.authority, "report", failing)
    wait_until(lambda: failing.called > 1)

    gateway.spark.denied[READ] = WHY

    assert statement.fails().details() == WHY
    wait_until(lambda: not backend.running)


@pytest.mark.parametrize("error", UNEXPECTED, ids=lambda error: type(error).__name__)
def test_a_failed_interrupt_is_retried(
    gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    statement = Statement(gateway, backend)
    failing = Failing(error, DriverBackend.interrupt)

    async def interrupt(*arguments: Any) -> bool:
        return await failing(*arguments)

    monkeypatch.setattr(DriverBackend, "interrupt", interrupt)

    gateway.spark.denied[READ] = WHY

    assert statement.fails().details() == WHY
    wait_until(lambda: not backend.running)


def test_an_operation_of_a_closed_channel_does_not_end_the_watch(gateway: RunningGateway, backend: FakeBackend) -> None:
    statement = Statement(gateway, backend)
    operation = gateway.gateway._operations.list_running()[0]  # pyright: ignore[reportPrivateUsage]
    gateway.run(operation.backend._channel.close())  # pyright: ignore[reportPrivateUsage]
    gateway.spark.denied[READ] = WHY
    gateway.report()
    statement.answers.cancel()

    with fake_backend() as another:
        another.held = True
        backend.driver.address, backend.driver.generation = another.driver.address, 2
        del gateway.spark.denied[READ]
        second = Statement(gateway, another)
        gateway.spark.denied[READ] = WHY

        assert second.fails().details() == WHY


def test_a_hanging_watch_ends_running_operations_and_restarts(
    gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = Statement(gateway, backend)
    monkeypatch.setattr(revocation_watch, "_UNHEARD", 0.5)
    monkeypatch.setattr(revocation_watch, "_HANGS", 0.7)
    works, hung = gateway.authority.report, list[OperationReport]()

    async def report(asked: OperationReport) -> Revocations:
        if not hung:
            hung.append(asked)
            await asyncio.Event().wait()
        return await works(asked)

    monkeypatch.setattr(gateway.authority, "report", report)

    assert "could not be decided" in statement.fails().details()
    wait_until(lambda: not backend.running)
    wait_until(lambda: gateway.gateway.watch.background.deaths[REVOCATION_WATCH] == 1)
    wait_until(lambda: _is_served(gateway))
    again = Statement(gateway, backend)
    gateway.spark.denied[READ] = WHY
    assert again.fails().code() is DENIED


def test_no_call_is_served_while_the_watch_cannot_report(
    gateway: RunningGateway, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revocation_watch, "_UNHEARD", 0.2)
    monkeypatch.setattr(gateway.authority, "report", Failing(ZeroDivisionError(), None, times=10**6))
    wait_until(lambda: not _is_served(gateway))

    error: Any = Client(gateway.port, "ann").fails("ExecutePlan")

    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert "ExecutePlan" not in backend.names()


def test_unanswered_reports_do_not_count_as_enforced(gateway: RunningGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    enforced = list[float]()

    def fail(authority: DecidingAuthority, _: OperationReport) -> Iterator[Revocation]:
        enforced.append(authority.enforced_at)
        raise ZeroDivisionError("unexpected")

    monkeypatch.setattr(DecidingAuthority, "_dead", fail)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > 2 and len(enforced) > 5)

    assert gateway.gateway.watch.background.deaths[REVOCATION_WATCH] == 0
    assert enforced[-1] - enforced[0] < 1


def _is_served(gateway: RunningGateway) -> bool:
    try:
        Client(gateway.port, "ann").version()
    except grpc.RpcError:
        return False
    return True
