"""Supervised background tasks: a failure is reported and counted, and the task is started again."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from headgate.control.kernel.supervision import BackgroundTask, BackgroundTasks, Heartbeat
from tests.threads import wait_until


class TestAThread:
    @pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(1), KeyboardInterrupt()])
    def test_a_background_thread_runs_again_after_any_exception(self, error: BaseException) -> None:
        tasks, runs, ending = BackgroundTasks((0.01,)), list[int](), threading.Event()

        def run() -> None:
            runs.append(1)
            if len(runs) < 3:
                raise error
            ending.wait()

        thread = tasks.start_thread("worker", run, "no run begins")
        wait_until(lambda: len(runs) == 3)
        wait_until(lambda: tasks.not_ready_reason() is None)

        assert tasks.deaths == {"worker": 2}
        ending.set()
        thread.stop()
        assert not thread.is_alive
        assert tasks.names() == ()

    def test_a_stopped_thread_is_reported_with_its_consequence(self) -> None:
        tasks = BackgroundTasks((30.0,))

        def run() -> None:
            raise RuntimeError("broken")

        thread = tasks.start_thread("audit", run, "decisions are missing from the audit")
        wait_until(lambda: bool(tasks.list_stopped()))

        assert tasks.not_ready_reason() == (
            "the background task `audit` is not running (RuntimeError: broken); "
            "until it restarts, decisions are missing from the audit"
        )
        thread.stop()

    def test_a_stopped_thread_without_a_consequence_leaves_the_process_ready(self) -> None:
        tasks = BackgroundTasks((30.0,))

        def run() -> None:
            raise RuntimeError("broken")

        thread = tasks.start_thread("listener", run, "")
        wait_until(lambda: [each.name for each in tasks.list_stopped()] == ["listener"])

        assert tasks.not_ready_reason() is None
        thread.stop()

    def test_a_thread_that_is_stopped_while_it_waits_runs_once_more_to_finish_its_work(self) -> None:
        tasks, runs = BackgroundTasks((30.0,)), list[int]()

        def run() -> None:
            runs.append(1)
            if len(runs) == 1:
                raise RuntimeError("broken")

        thread = tasks.start_thread("audit", run, "")
        wait_until(lambda: bool(tasks.list_stopped()))
        thread.stop()

        assert len(runs) == 2


class TestATask:
    @pytest.mark.parametrize("error", [RuntimeError("broken"), asyncio.CancelledError("from within")])
    def test_a_background_task_runs_again_after_any_exception(self, error: BaseException) -> None:
        tasks, runs = BackgroundTasks((0.01,)), list[int]()

        async def run() -> None:
            runs.append(1)
            if len(runs) < 3:
                raise error
            await asyncio.Event().wait()

        async def supervised() -> None:
            task = tasks.start_task("watch", run, "revoked rights do not end statements")
            await _until(lambda: len(runs) == 3)
            assert tasks.not_ready_reason() is None
            await task.stop()

        asyncio.run(supervised())

        assert tasks.deaths == {"watch": 2}
        assert tasks.names() == ()

    def test_a_hanging_task_is_cancelled_and_runs_again(self) -> None:
        tasks, runs = BackgroundTasks((0.01,)), list[int]()

        async def run() -> None:
            runs.append(1)
            await asyncio.Event().wait()

        async def supervised() -> None:
            task: BackgroundTask = tasks.start_task("watch", run, "")
            await _until(lambda: len(runs) == 1)
            task.restart()
            await _until(lambda: len(runs) == 2)
            await task.stop()

        asyncio.run(supervised())

        assert tasks.deaths == {"watch": 1}


class TestALoop:
    def test_a_loop_without_a_successful_round_is_reported_until_a_round_succeeds(self) -> None:
        tasks, now, ending = BackgroundTasks(), [0.0], threading.Event()
        heartbeat = Heartbeat(20.0, lambda: now[0])
        now[0] = 1_000.0

        def run() -> None:
            ending.wait()

        thread = tasks.start_thread("worker", run, "no run begins", heartbeat)
        assert tasks.not_ready_reason() is None

        now[0] += 21.0
        late = tasks.not_ready_reason()
        heartbeat.beat()
        again = tasks.not_ready_reason()
        ending.set()
        thread.stop()

        assert late == (
            "no round of the background task `worker` has succeeded for 21 s; until one succeeds, no run begins; "
            "read its errors in the server's log, and if there are none, restart the server"
        )
        assert again is None

    def test_a_restarted_loop_is_reported_late_until_a_round_succeeds(self) -> None:
        tasks, runs, ending = BackgroundTasks((0.01,)), list[int](), threading.Event()

        def run() -> None:
            runs.append(1)
            if len(runs) == 1:
                raise RuntimeError("broken")
            ending.wait()

        thread = tasks.start_thread("worker", run, "no run begins", Heartbeat(0.0))
        wait_until(lambda: len(runs) == 2)
        why = tasks.not_ready_reason()
        ending.set()
        thread.stop()

        assert why is not None


def test_a_check_shows_a_task_that_something_else_runs() -> None:
    tasks, is_running = BackgroundTasks(), [True]
    remove = tasks.add_check("answers for the gateway", lambda: is_running[0], "Spark Connect refuses every call")
    assert tasks.not_ready_reason() is None

    is_running[0] = False
    why = tasks.not_ready_reason()
    remove()

    assert why is not None
    assert "answers for the gateway" in why
    assert tasks.not_ready_reason() is None


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 (what it waits for has no event)
            await asyncio.sleep(0.005)
