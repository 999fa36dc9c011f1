"""The context of one attempt of a run, for its kind: a Spark session of the run identity, and callbacks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headgate.facts.ids import RunId

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

    from headgate.pipelines.connections.targets import Place
    from headgate.pipelines.files.file_limits import Bound

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Range:
    """The range of a backfill, in values of the cursor: `since` is inclusive, `until` exclusive; None is unbounded."""

    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class RunExecution:
    """The argument of a kind's run function. An exception of the function ends the attempt; its message goes to the run log."""

    spark: "SparkSession"
    """A session through the gateway with the run identity: it can access only what the pipeline declares."""
    run: RunId
    say: Say
    """Add a line to the run's log."""
    metric: Callable[[str, float], None]
    """Record a metric of the run: the rows written to a table as `rows.<table>`, or another amount of work."""
    exists: Callable[[str], bool]
    """Whether a table exists, by its full name."""
    committed: Callable[[str], bool]
    """Whether an earlier attempt of this run has committed rows to a table: then that step is done."""
    place: Callable[[str], "Place"]
    """Return the target of a declared connection, by its name, with its secret. Raises `PlaceError`. See `connections.targets`."""
    staging: Path
    """A folder of this attempt alone, which its session may read and write too. It is deleted when the attempt ends."""
    checkpoints: Path
    """A folder of the pipeline for the progress of its streams, which is kept between runs."""
    incoming: Path
    """A folder of the pipeline for copies of the files that its stream loads, which its session may read."""
    parquet: "Bound"
    """Check a Parquet file against its limits before Spark reads it."""
    wait: Callable[[float], bool]
    """Wait this number of seconds, or until the run has to end; return whether it has to end."""
    cleaned: int = 0
    """The number of times the pipeline was cleaned and restarted: each time its streams start from the beginning."""
    keep: Callable[[Mapping[str, Any]], None] = lambda _: None
    """Store the rows that the pipeline shows, replacing those of its earlier runs."""
    range: Range | None = None
    """The range of a backfill; None for a usual run."""
