"""Runs: a pipeline executed on Spark through the gateway, as its run identity and nobody else."""

import secrets
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.control.command import CommandError, MissingError
from headgate.control.identity import run_token
from headgate.control.organization import Organization
from headgate.control.ports import RunConflictError
from headgate.control.queue import QUEUED, RUNNING, RunRow, RunWanted
from headgate.control.runs import EndRun, StartRun
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.definition import PipelineDefinition, parts
from headgate.pipelines.execution import Execution, Say
from headgate.pipelines.kinds import defined, kind_of
from headgate.pipelines.place import Place
from headgate.pipelines.places import Places

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_AT_ONCE = 2
_LEASE = 24 * 3600.0


class Runner:
    """Carries out runs, a few at a time."""

    def __init__(
        self,
        home: Organization,
        places: Places,
        connect: "Callable[[str], SparkSession]",
    ) -> None:
        self._control = home.control
        self._store = home.store
        self._places = places
        self._connect = connect
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="run")

    def wake(self) -> None:
        """Carry out what is queued, as its turn comes. Returns at once."""
        for row in self._store.runs(RunWanted(states=(QUEUED,), due_before=self._control.now)):
            self._pool.submit(self._carry_out, row)

    def end_left_over(self) -> None:
        """End the runs that an earlier process did not live to end."""
        for row in self._store.runs(RunWanted(states=(RUNNING,))):
            self._store.say(row.run, self._control.now, ["the server ended while this run was under way"])
            self._control.execute(EndRun(row, "failed", "the server ended while it was under way"), None)

    def stop(self) -> None:
        """Take no more runs; what is under way ends with Spark."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _carry_out(self, row: RunRow) -> None:
        secret = secrets.token_urlsafe(32)
        try:
            self._control.execute(StartRun(row, "here", self._control.now + _LEASE, secret), None)
        except (CommandError, RunConflictError):  # it waits, or somebody else was faster
            return
        begun = self._store.run(row.run)
        if begun is None or begun.state != RUNNING:
            return

        def say(line: str) -> None:
            self._store.say(row.run, self._control.now, [line])

        state, why = "failed", ""
        try:
            self._execute(row.run, row.pipeline, run_token(row.run, secret), say)
            state = "succeeded"
        except Exception as error:  # noqa: BLE001 (whatever ends a run is said in its log)
            why = _own_words(error)
            say(why)
        finally:
            with suppress(RunConflictError):  # cancelled meanwhile
                self._control.execute(EndRun(begun, state, why), None)

    def _execute(self, run: RunId, pipeline: ResourceId, token: str, say: Say) -> None:
        definition = self._definition(pipeline)
        carry_out = kind_of(definition).run
        if carry_out is None:
            raise MissingError(f"`{definition.name}` has no runs")
        spark = self._connect(token)
        try:
            with tempfile.TemporaryDirectory(prefix="headgate-run-") as staging:
                carry_out(definition, self._execution(spark, run, pipeline, say, Path(staging)))
        finally:
            spark.stop()

    def _execution(self, spark: "SparkSession", run: RunId, pipeline: ResourceId, say: Say, staging: Path) -> Execution:
        def place(name: str) -> Place:
            edges = self._control.snapshot.resources[pipeline].edges("connections")
            return self._places.place(next(edge.target for edge in edges if edge.name == name))

        return Execution(
            spark=spark,
            run=run,
            say=say,
            metric=lambda _name, _value: None,
            exists=self._exists,
            committed=lambda _: False,
            place=place,
            staging=staging,
            checkpoints=staging,
            wait=lambda _: False,
        )

    def _definition(self, pipeline: ResourceId) -> PipelineDefinition:
        document = self._store.document("pipeline", pipeline)
        if document is None:
            raise MissingError("the pipeline has no definition")
        return defined(document)

    def _exists(self, table: str) -> bool:
        return self._control.snapshot.find(parts(table)) is not None


def _own_words(error: Exception) -> str:
    # Spark's client puts the trace of the JVM behind its sentence, which is nobody's business here.
    return str(error).split("JVM stacktrace")[0].strip() or type(error).__name__
