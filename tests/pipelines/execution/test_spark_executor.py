"""The execution of an attempt on Spark: what it receives and what it leaves behind, with a fake session."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from headgate.control.connections.vault import Vault
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.runs import StartRun
from headgate.facts.changes import ResourceDeleted, RoleRevoked
from headgate.pipelines.connections.external_access import ExternalAccessPolicy
from headgate.pipelines.connections.targets import PlaceError
from headgate.pipelines.definitions.context import Range, RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.definition import PipelineDefinition
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.execution import spark_executor
from headgate.pipelines.execution.attempt import Attempt, StopReason
from headgate.pipelines.execution.spark_executor import SparkExecutor
from headgate.pipelines.kinds import parse_definition as read
from headgate.untrusted_input.blocking_pool import BlockingPool
from tests.egress import open_egress
from tests.fakes.small_organization import ADMIN, DELAYS, ROOT
from tests.pipelines.fake_worker import Clock, change, defined, opened, queued, row

NOW = 1_800_000_000.0


class FakeSession:
    """A session that counts the calls to it."""

    def __init__(self) -> None:
        self.client = self
        self.interrupted = threading.Event()
        self.stopped = 0
        self.attempt: Any = None

    def registerProgressHandler(self, handler: object) -> None:  # noqa: N802 (PySpark's name)
        """Ignore the handler."""

    def set_retry_policies(self, policies: object) -> None:
        """Ignore the policies."""

    def interruptAll(self) -> None:  # noqa: N802
        self.interrupted.set()

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def session() -> FakeSession:
    return FakeSession()


@pytest.fixture
def carry_out(
    session: FakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[RunExecution], None]], Attempt]:
    """Return a function that executes one attempt, whose kind does the given work."""

    def carried(work: Callable[[RunExecution], None], *, stopped: bool = False) -> Attempt:
        def run(_: PipelineDefinition, execution: RunExecution) -> None:
            work(execution)

        kind = Kind("query", PipelineDefinition, lambda _: DeclaredIO(), run)
        monkeypatch.setattr(spark_executor, "kind_of", lambda _: kind)
        session.attempt = attempt = begun()
        if stopped:
            attempt.stop(StopReason.ENDING)
        SparkExecutor(connected, places, BlockingPool())(attempt)
        return attempt

    def connected(token: str) -> Any:
        assert token == "a token"  # noqa: S105 (a test secret)
        return session

    def places(organization: Organization) -> ExternalAccessPolicy:
        vault = Vault(tmp_path / "key")
        return ExternalAccessPolicy(
            organization.id, organization.control, organization.store, tmp_path, vault, open_egress()
        )

    return carried


def begun() -> Attempt:
    """Begin an attempt of a backfill, and return it."""
    organization = opened(Clock(NOW))
    queued(organization, "r", trigger="backfill", since="1", until="2")
    organization.control.execute(StartRun(row(organization, "r"), "w", NOW + 20, "secret"), None)
    return Attempt(organization, row(organization, "r"), read(defined(DELAYS).body), "a token")


def copy_one(execution: RunExecution, seen: list[Path]) -> None:
    """Copy an incoming file into the run's folder."""
    execution.incoming.mkdir(parents=True)
    (execution.incoming / "1.csv").write_text("n")
    seen.append(execution.incoming / "1.csv")


class TestAnAttempt:
    def test_an_attempt_has_a_staging_folder_that_is_deleted_and_checkpoints_that_stay(
        self, carry_out: Any, session: FakeSession, tmp_path: Path
    ) -> None:
        seen = list[RunExecution]()

        def work(execution: RunExecution) -> None:
            assert execution.staging.is_dir()
            (execution.staging / "half.json").write_text("{")
            (execution.checkpoints / "1").write_text("here")
            seen.append(execution)

        carry_out(work)

        (execution,) = seen
        assert execution.range == Range("1", "2")
        assert not (tmp_path / "scratch" / "runs" / "r").exists()
        assert (execution.checkpoints / "1").read_text() == "here"
        assert session.stopped == 1

    @pytest.mark.parametrize("fails", [False, True])
    def test_the_copies_of_incoming_files_are_deleted_when_an_attempt_ends(
        self, carry_out: Any, *, fails: bool
    ) -> None:
        seen = list[Path]()

        def work(execution: RunExecution) -> None:
            copy_one(execution, seen)
            if fails:
                raise RuntimeError

        with pytest.raises(RuntimeError) if fails else nullcontext():
            carry_out(work)

        assert not seen[0].exists()

    def test_a_lost_attempt_leaves_its_copies_to_the_next_attempt(self, carry_out: Any, session: FakeSession) -> None:
        seen = list[Path]()

        def work(execution: RunExecution) -> None:
            copy_one(execution, seen)
            session.attempt.stop(StopReason.LOST)

        carry_out(work).mark_ended()

        assert seen[0].exists()

    def test_an_attempt_of_a_deleted_pipeline_leaves_no_copies_however_late_it_ends(
        self, carry_out: Any, session: FakeSession
    ) -> None:
        seen = list[Path]()

        def work(execution: RunExecution) -> None:
            copy_one(execution, seen)
            change(session.attempt.organization, ResourceDeleted(DELAYS))
            session.attempt.close_once()

        carry_out(work)

        assert not seen[0].exists()

    def test_an_attempt_that_fails_closes_its_session(self, carry_out: Any, session: FakeSession) -> None:
        def work(execution: RunExecution) -> None:
            execution.place("elsewhere")

        with pytest.raises(PlaceError, match="declares no connection `elsewhere`"):
            carry_out(work)

        assert session.stopped == 1

    def test_an_attempt_cannot_use_a_connection_after_its_run_as_loses_a_privilege(
        self, carry_out: Any, session: FakeSession
    ) -> None:
        def work(execution: RunExecution) -> None:
            change(session.attempt.organization, RoleRevoked(ADMIN, "admin", ROOT))
            execution.place("elsewhere")

        with pytest.raises(InterruptedError, match="may not do"):
            carry_out(work)

        assert session.attempt.stop_reason is StopReason.REFUSED
        assert "the run-as principal of the pipeline may not do" in session.attempt.refusal

    def test_a_stopped_attempt_does_not_start(self, carry_out: Any, session: FakeSession) -> None:
        with pytest.raises(InterruptedError):
            carry_out(lambda _: pytest.fail("the work of the attempt began"), stopped=True)

        assert session.stopped == 1

    def test_a_running_attempt_is_interrupted_on_spark_when_it_is_stopped(
        self, carry_out: Any, session: FakeSession
    ) -> None:
        def work(execution: RunExecution) -> None:
            session.attempt.stop(StopReason.TIMEOUT)
            assert execution.wait(10)
            assert session.interrupted.wait(10)

        carry_out(work).mark_ended()
