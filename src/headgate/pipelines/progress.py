"""How far Spark is with a statement, told to the run's journal."""

from collections.abc import Iterable

from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo

from headgate.pipelines.journal import Journal


class Progress(ProgressHandler):
    """Adds up the tasks of the stages that Spark reports."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __call__(  # the client's own signature, of which only the stages matter here
        self,
        stages: Iterable[StageInfo] | None,
        inflight_tasks: int,  # noqa: ARG002
        operation_id: str | None,  # noqa: ARG002
        done: bool,  # noqa: ARG002, FBT001
    ) -> None:
        """Take one report of the client."""
        counts = [(stage.num_completed_tasks, stage.num_tasks) for stage in stages or ()]
        self._journal.progress(sum(done for done, _ in counts), sum(total for _, total in counts))
