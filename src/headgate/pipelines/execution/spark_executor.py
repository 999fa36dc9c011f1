"""Executes attempts: runs the function of the kind with a Spark session of the run identity."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from headgate.control.kernel.errors import NotFoundError
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.commits import has_committed
from headgate.control.pipelines.run_as import find_continuation_refusal
from headgate.control.pipelines.states import count_cleanings
from headgate.pipelines.connections.external_access import ExternalAccessPolicy, connection
from headgate.pipelines.connections.targets import Place, PlaceError
from headgate.pipelines.definitions.context import Range, RunExecution
from headgate.pipelines.definitions.definition import split_name
from headgate.pipelines.execution.attempt import Attempt
from headgate.pipelines.files.file_limits import parquet_bound
from headgate.pipelines.kinds import kind_of
from headgate.pipelines.writing.cached_rows import row_saver
from headgate.untrusted_input.blocking_pool import BlockingPool

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

Connect = Callable[[str], "SparkSession"]
"""Opens a session through the gateway with a token. Raises `ConnectionError` while Spark is not available."""


class SparkExecutor:
    """Executes attempts, each in the thread of its caller."""

    def __init__(
        self,
        connect: Connect,
        external_access_of: Callable[[Organization], ExternalAccessPolicy],
        parsers: BlockingPool,
    ) -> None:
        self._connect = connect
        self._external_access_of = external_access_of
        self._parsers = parsers

    def __call__(self, attempt: Attempt) -> None:
        """Execute an attempt. An exception of its kind ends it."""
        # Imported here: PySpark takes a second to load, and the server responds to requests before it is needed.
        from headgate.pipelines.execution.progress import RunProgress

        carry_out = kind_of(attempt.definition).run
        if carry_out is None:
            raise NotFoundError(
                f"the pipeline `{attempt.definition.name}` cannot run, because its kind has no runs; "
                "trigger another pipeline"
            )
        external_access = self._external_access_of(attempt.organization)
        spark = self._connect(attempt.token)
        try:
            spark.registerProgressHandler(RunProgress(attempt.journal))
            attempt.set_interrupt(lambda: _interrupt(spark))
            execution = _execution(attempt, spark, external_access, self._parsers)
            execution.staging.mkdir(parents=True, exist_ok=True)
            execution.checkpoints.mkdir(parents=True, exist_ok=True)
            if attempt.stop_reason is not None:
                raise InterruptedError(attempt.stop_reason.value)
            carry_out(attempt.definition, execution)
        finally:
            attempt.set_interrupt(lambda: None)
            # Without retries: if the server does not respond, the session has ended, or ends with the run identity.
            spark.client.set_retry_policies([])
            spark.stop()
            _remove_copies(attempt, external_access)


def _remove_copies(attempt: Attempt, external_access: ExternalAccessPolicy) -> None:
    """Delete the files that the attempt read and wrote, and those of an earlier attempt whose worker died."""
    shutil.rmtree(external_access.staging(attempt.row.run), ignore_errors=True)
    is_gone = attempt.row.pipeline not in attempt.organization.control.snapshot.resources
    # A later attempt that is already under way reads from the same folder, and would miss its incoming files.
    if is_gone or not attempt.may_be_followed:
        shutil.rmtree(external_access.incoming(attempt.row.pipeline), ignore_errors=True)


def _interrupt(spark: "SparkSession") -> None:
    with suppress(Exception):  # the gateway cuts work that cannot be interrupted, when the run identity ends
        spark.interruptAll()


def _execution(
    attempt: Attempt, spark: "SparkSession", external_access: ExternalAccessPolicy, parsers: BlockingPool
) -> RunExecution:
    row, control, store = attempt.row, attempt.organization.control, attempt.organization.store

    def place(name: str) -> Place:
        # Access is decided here too: the guard in Spark does not see what the server itself reads and writes.
        control.catch_up()
        why = find_continuation_refusal(control.answers, row.run, control.now)
        if why is not None:
            attempt.refuse(why)
            raise InterruptedError(why)
        found = connection(control.snapshot, row.pipeline, name)
        if found is None:
            raise PlaceError(
                f"the pipeline `{attempt.definition.name}` declares no connection `{name}`; add the connection "
                "to the definition"
            )
        return external_access.place(found)

    def exists(table: str) -> bool:
        control.catch_up()
        return control.snapshot.find(split_name(table)) is not None

    return RunExecution(
        spark=spark,
        run=row.run,
        say=attempt.journal.say,
        metric=attempt.journal.metric,
        exists=exists,
        committed=lambda table: has_committed(control, store, row.run, split_name(table)),
        place=place,
        staging=external_access.staging(row.run) / str(row.attempt),
        checkpoints=external_access.checkpoints(row.pipeline),
        incoming=external_access.incoming(row.pipeline),
        parquet=parquet_bound(parsers, attempt.organization.id),
        wait=attempt.wait,
        cleaned=count_cleanings(control.snapshot.resources[row.pipeline]),
        keep=row_saver(control, store, row.run, row.pipeline),
        range=Range(row.since, row.until) if (row.since, row.until) != (None, None) else None,
    )
