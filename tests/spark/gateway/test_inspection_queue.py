"""The gateway inspects the requests of one principal in turn, so that requests of others do not wait for them."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId
from headgate.spark.gateway import inspection_queue
from headgate.spark.gateway.admission import Admitted
from headgate.spark.gateway.errors import ExhaustedError
from headgate.spark.gateway.inspection_queue import MAX_WAITING, Inspections, Lane
from headgate.spark.gateway.protos import relations
from headgate.spark.gateway.wire_format import MAX_PARTS
from tests.spark.gateway.admission_cases import ANN, RUN, SESSION, base, files, may_touch
from tests.spark.gateway.fake_backend import fake_backend
from tests.spark.gateway.gateway_harness import RunningGateway, running_gateway
from tests.spark.gateway.hostile_client import RawClient, bearer
from tests.spark.gateway.shapes import SHAPES, TRUE, Sent, compressed, plain, projected
from tests.threads import wait_until

A, B = PrincipalId("ann"), PrincipalId("bob")


class Work:
    """Work that is done when the test releases it, and that records the order."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()

    def named(self, name: str) -> Callable[[], Admitted]:
        def work() -> Any:
            self.begun.release()
            self.go_on.wait(10)
            self.done.append(name)

        return work


def with_lane(threads: int, test: Callable[[Lane, Work], Coroutine[Any, Any, None]]) -> Work:
    """Run a test on an event loop."""
    work, lane = Work(), Lane(threads)

    async def run() -> None:
        async with asyncio.timeout(20):
            await test(lane, work)

    try:
        asyncio.run(run())
    finally:
        work.go_on.set()
        lane.close()
    return work


class TestLane:
    def test_principals_take_turns_whatever_the_number_of_their_requests(self) -> None:
        async def test(lane: Lane, work: Work) -> None:
            mine = [asyncio.create_task(lane.run(A, 1, work.named(f"ann {at}"))) for at in range(4)]
            await asyncio.sleep(0)
            other = asyncio.create_task(lane.run(B, 1, work.named("bob")))
            await asyncio.sleep(0)
            work.go_on.set()
            await asyncio.gather(other, *mine)

        assert with_lane(1, test).done == ["ann 0", "bob", "ann 1", "ann 2", "ann 3"]

    def test_a_principal_uses_one_thread_of_several_at_a_time(self) -> None:
        async def test(lane: Lane, work: Work) -> None:
            mine = [asyncio.create_task(lane.run(A, 1, work.named(f"ann {at}"))) for at in range(3)]
            await asyncio.to_thread(work.begun.acquire)

            assert not await asyncio.to_thread(work.begun.acquire, timeout=0.1)
            work.go_on.set()
            await asyncio.gather(*mine)

        with_lane(4, test)

    def test_an_inspection_keeps_its_turn_when_its_client_leaves(self) -> None:
        async def test(lane: Lane, work: Work) -> None:
            left = asyncio.create_task(lane.run(A, 1, work.named("left")))
            await asyncio.to_thread(work.begun.acquire)
            left.cancel()
            await asyncio.wait([left])
            later = asyncio.create_task(lane.run(A, 1, work.named("later")))

            assert not await asyncio.to_thread(work.begun.acquire, timeout=0.1)
            work.go_on.set()
            await later

        assert with_lane(2, test).done == ["left", "later"]

    def test_a_request_is_not_inspected_if_its_client_leaves_before_its_turn(self) -> None:
        async def test(lane: Lane, work: Work) -> None:
            first = asyncio.create_task(lane.run(A, 1, work.named("first")))
            left = asyncio.create_task(lane.run(A, 1, work.named("left")))
            await asyncio.to_thread(work.begun.acquire)
            left.cancel()
            await asyncio.wait([left])
            work.go_on.set()
            await first
            await lane.run(A, 1, work.named("later"))

        assert with_lane(2, test).done == ["first", "later"]

    @pytest.mark.parametrize(
        ("size", "number", "refusal"),
        [
            (1, MAX_WAITING + 1, "too many of your requests wait to be checked"),
            (128 * 1024 * 1024, 3, "your requests that wait to be checked are too large together"),
        ],
    )
    def test_requests_of_one_principal_wait_up_to_a_bound(self, size: int, number: int, refusal: str) -> None:
        async def test(lane: Lane, work: Work) -> None:
            mine = [asyncio.create_task(lane.run(A, size, work.named("ann"))) for _ in range(number)]
            await asyncio.sleep(0)

            with pytest.raises(ExhaustedError, match=refusal):
                await lane.run(A, size, work.named("ann"))
            other = asyncio.create_task(lane.run(B, size, work.named("bob")))
            work.go_on.set()
            await asyncio.gather(other, *mine)
            await lane.run(A, size, work.named("ann"))

        assert len(with_lane(2, test).done) == number + 2

    def test_an_inspection_that_fails_passes_its_turn_to_the_next(self) -> None:
        async def test(lane: Lane, work: Work) -> None:
            def fail() -> Admitted:
                raise ExhaustedError("no")

            with pytest.raises(ExhaustedError):
                await lane.run(A, 1, fail)
            work.go_on.set()
            await lane.run(A, 1, work.named("next"))

        with_lane(1, test)


LANES = {
    "a tiny request": (plain(projected(TRUE)), []),
    "a tiny compressed request": (compressed(projected(TRUE)), []),
    "a small request": (plain(projected(TRUE, 400)), ["small"]),
    "a small compressed request": (compressed(projected(TRUE, 400)), ["small"]),
    "a large request": (plain(projected(TRUE, 20_000)), ["large"]),
    "a request that is large once it is unpacked": (compressed(projected(TRUE, 20_000)), ["small", "large"]),
}


@pytest.mark.parametrize("what", LANES)
def test_small_requests_have_threads_of_their_own(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent, expected = LANES[what]

    assert lanes_of(sent, ANN, monkeypatch) == expected


def test_a_tiny_request_that_waits_for_a_decision_waits_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    read_of_a_path = relations.Relation(read=files()).SerializeToString()

    assert lanes_of(plain(read_of_a_path), RUN, monkeypatch) == ["small"]


def lanes_of(sent: Sent, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Inspect a request, and return the names of the lanes that it used."""
    used: list[str] = []

    async def inspect() -> Admitted:
        both = Inspections()
        for name, lane in (("small", both.small), ("large", both.large)):
            monkeypatch.setattr(lane, "run", noted(lane, name, used))
        try:
            return await both.run(*sent, caller, may_touch)
        finally:
            both.close()

    assert asyncio.run(inspect()).key.session_id == SESSION
    return used


def noted(lane: Lane, name: str, used: list[str]) -> Callable[..., Any]:
    run = lane.run

    async def running(*arguments: Any) -> Admitted:
        used.append(name)
        return await run(*arguments)

    return running


def test_an_inspection_ends_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection_queue, "INSPECTION_SECONDS", -1.0)

    async def inspect() -> None:
        both = Inspections()
        try:
            await both.run(*compressed(projected(TRUE, 20_000)), ANN, may_touch)
        finally:
            both.close()

    with pytest.raises(inspection_queue.TooComplexError, match="seconds to check"):
        asyncio.run(inspect())


@pytest.fixture(scope="module")
def gateway() -> Iterator[RunningGateway]:
    with fake_backend() as backend, running_gateway(backend.driver, "ann", "bob") as running:
        yield running


@pytest.mark.parametrize("parts", [MAX_PARTS - 5_000, 2 * MAX_PARTS])
@pytest.mark.parametrize(
    "shape",
    ["names of columns", *(pytest.param(each, marks=pytest.mark.soak) for each in ("literals", "elements of arrays"))],
)
def test_another_principal_is_answered_before_large_requests_that_came_first(
    gateway: RunningGateway, shape: str, parts: int
) -> None:
    rpc, data = SHAPES[shape](parts)
    small = base.ExecutePlanRequest(session_id=SESSION, plan={"root": {"range": {"end": 1, "step": 1}}})
    ann, bob = (RawClient(f"127.0.0.1:{gateway.port}", bearer(name)) for name in ("ann", "bob"))
    bob.send("ExecutePlan", [small.SerializeToString()])  # the session exists
    ended: list[str] = []

    with ThreadPoolExecutor(8) as threads:
        for _ in range(8):
            threads.submit(ann.send, rpc.name, [data]).add_done_callback(lambda _: ended.append("ann"))
        wait_until(lambda: len(gateway.gateway._inspections.large._lines) == 1)
        answer = bob.send("ExecutePlan", [small.SerializeToString()])
        ended.append("bob")

    assert answer.code is grpc.StatusCode.OK
    assert ended.index("bob") < 8
