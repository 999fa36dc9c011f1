"""States of pipelines with a continuous run."""

import pytest

from headgate.control.kernel.run_queue import QUEUED, RUNNING, RunFilter
from headgate.control.pipelines.runs import SECRET, RunNotReadyError
from headgate.control.pipelines.states import ChangeState, count_cleanings
from headgate.facts.changes import ResourceCreated, RunAsSet
from headgate.facts.ids import ResourceId, RunId
from tests.control.pipelines.test_runs import RUN, Queue, start
from tests.fakes.small_organization import ADMIN, FLIGHTS, PROJECT, edges

LATE = ResourceId("late")


class TestAStreamCapture:
    """A continuous run lasts until it is stopped: pausing stops it, and it waits in the queue until it is resumed."""

    @pytest.fixture
    def queue(self) -> Queue:
        capture = ResourceCreated(LATE, "stream_capture", PROJECT, LATE, ADMIN, {"outputs": edges(FLIGHTS)})
        return Queue((capture, RunAsSet(LATE, ADMIN)))

    def change(self, queue: Queue, verb: str, run: RunId = RUN) -> None:
        rows = tuple(queue.store.runs(RunFilter(LATE, (QUEUED, RUNNING))))
        queue.control.execute(ChangeState(LATE, verb, rows, run), None)

    def test_a_paused_stream_capture_stops_and_resumes_as_the_same_run(self, queue: Queue) -> None:
        queue.do(start(queue.queued(LATE)))

        self.change(queue, "pause")
        paused = queue.row
        queue.refused(start(paused), RunNotReadyError, "paused")
        self.change(queue, "resume", RunId("another"))

        assert (paused.state, paused.why, paused.lease) == ("queued", "stopped by `pause`", None)
        assert queue.store.document(SECRET, RUN) is None
        assert queue.store.run(RunId("another")) is None
        assert queue.do(start(queue.row)).attempt == 2

    def test_resuming_a_stream_capture_without_a_run_queues_one(self, queue: Queue) -> None:
        self.change(queue, "resume")

        assert (queue.row.state, queue.row.pipeline) == ("queued", LATE)

    def test_a_stream_capture_counts_its_clean_restarts(self, queue: Queue) -> None:
        queue.do(start(queue.queued(LATE)))

        for _ in range(2):
            self.change(queue, "clean_and_restart")

        assert queue.row.state == "queued"
        assert count_cleanings(queue.control.snapshot.resources[LATE]) == 2
