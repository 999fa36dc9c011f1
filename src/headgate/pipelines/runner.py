"""Runs: a pipeline executed on Spark through the gateway, as its run identity and nobody else."""

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.control.command import MissingError
from headgate.control.identity import Identity
from headgate.control.organization import Organization
from headgate.control.pipelines import EndRun
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.definition import PipelineDefinition, parts
from headgate.pipelines.execution import Execution
from headgate.pipelines.journal import Journal
from headgate.pipelines.kinds import defined, kind_of
from headgate.pipelines.place import Place
from headgate.pipelines.places import Places

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_AT_ONCE = 2


class Runner:
    """Carries out runs, a few at a time."""

    def __init__(
        self,
        home: Organization,
        identity: Identity,
        places: Places,
        connect: "Callable[[str], SparkSession]",
    ) -> None:
        self._home = home.id
        self._control = home.control
        self._store = home.store
        self._identity = identity
        self._places = places
        self._connect = connect
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="run")

    def carry_out(self, run: RunId) -> None:
        """Carry out a run that was started, when its turn comes. Returns at once."""
        self._pool.submit(self._carry_out, run)

    def end_left_over(self) -> None:
        """End the runs that an earlier process did not live to end."""
        for run in list(self._control.snapshot.runs):
            journal = Journal(self._store, run, lambda: self._control.now)
            journal.say("the server ended while this run was under way")
            self._control.execute(EndRun(run, "failed", journal.closed("failed")), None)

    def stop(self) -> None:
        """Take no more runs; what is under way ends with Spark."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _carry_out(self, run: RunId) -> None:
        started = self._control.snapshot.runs.get(run)
        if started is None:  # cancelled before its turn
            return
        journal = Journal(self._store, run, lambda: self._control.now)
        token = self._identity.open_run(run, started.run_as, self._home)
        state = "failed"
        try:
            self._execute(run, started.pipeline, token, journal)
            state = "succeeded"
        except Exception as error:  # noqa: BLE001 (whatever ends a run is said in its log)
            journal.say(_own_words(error))
        finally:
            self._identity.close_run(run)
            with suppress(MissingError):  # cancelled meanwhile
                self._control.execute(EndRun(run, state, journal.closed(state)), None)

    def _execute(self, run: RunId, pipeline: ResourceId, token: str, journal: Journal) -> None:
        # Imported here: PySpark takes a second to load, and the server answers before it is needed.
        from headgate.pipelines.progress import Progress

        definition = self._definition(pipeline)
        carry_out = kind_of(definition).run
        if carry_out is None:
            raise MissingError(f"`{definition.name}` has no runs")
        spark = self._connect(token)
        spark.registerProgressHandler(Progress(journal))
        try:
            with tempfile.TemporaryDirectory(prefix="headgate-run-") as staging:
                carry_out(definition, self._execution(spark, run, pipeline, journal, Path(staging)))
        finally:
            spark.stop()

    def _execution(
        self, spark: "SparkSession", run: RunId, pipeline: ResourceId, journal: Journal, staging: Path
    ) -> Execution:
        def place(name: str) -> Place:
            edges = self._control.snapshot.resources[pipeline].edges("connections")
            return self._places.place(next(edge.target for edge in edges if edge.name == name))

        return Execution(
            spark=spark,
            run=run,
            say=journal.say,
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
