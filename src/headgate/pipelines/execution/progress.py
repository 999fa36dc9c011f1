"""The progress of an attempt's statements on Spark, reported to its journal."""

from collections.abc import Iterable

from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo
from typing_extensions import override

from headgate.pipelines.execution.run_log import Journal


class RunProgress(ProgressHandler):
    """Adds up the stages that Spark reports, over all statements."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._done = _figures(())
        """The sums of the statements that have ended."""
        self._under_way = dict[str | None, dict[str, int]]()

    @override
    def __call__(  # the client's own signature
        self,
        stages: Iterable[StageInfo] | None,
        inflight_tasks: int,
        operation_id: str | None,
        done: bool,
    ) -> None:
        """Add one progress report of the client."""
        known = _figures(tuple(stages or ()))
        if done:
            self._under_way.pop(operation_id, None)
            self._done = _add(self._done, known)
        else:
            self._under_way[operation_id] = known
        total = self._done
        for each in tuple(self._under_way.values()):
            total = _add(total, each)
        self._journal.progress(total)


def _figures(stages: tuple[StageInfo, ...]) -> dict[str, int]:
    return {
        "stages": len(stages),
        "stages_done": sum(each.done for each in stages),
        "tasks": sum(each.num_tasks for each in stages),
        "tasks_done": sum(each.num_completed_tasks for each in stages),
        "bytes": sum(each.num_bytes_read for each in stages),
    }


def _add(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: value + other[name] for name, value in one.items()}
