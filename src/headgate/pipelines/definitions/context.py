"""One attempt of a run, as its kind sees it: a Spark session of the run identity, and what it may say and ask."""

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
    """What a backfill is about: values of the cursor, `since` included and `until` not; None is open."""

    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class RunExecution:
    """Handed to the function that a kind runs by. What it raises ends the attempt, with its words in the log."""

    spark: "SparkSession"
    """Connected through the gateway as the run identity: it can touch what the pipeline declares, nothing else."""
    run: RunId
    say: Say
    """Add a line to the run's log."""
    metric: Callable[[str, float], None]
    """Keep a figure of the run: rows in `rows.<table>`, and what else tells how much was done."""
    exists: Callable[[str], bool]
    """Whether a table is there, by its full name."""
    committed: Callable[[str], bool]
    """Whether an earlier attempt of this run has committed rows to a table already: then that step is done."""
    place: Callable[[str], "Place"]
    """What is behind a declared connection, by its name, with its secret. Raises `PlaceError`. See `place.folder_of` and its like."""
    staging: Path
    """A folder of this attempt alone, which its session may read and write too. It goes when the attempt ends."""
    checkpoints: Path
    """A folder of the pipeline, which stays, for the progress of its streams."""
    incoming: Path
    """A folder of the pipeline, which its session may read, for copies of the files that its stream takes in."""
    parquet: "Bound"
    """Holds a Parquet file to bounds before Spark reads it."""
    wait: Callable[[float], bool]
    """Wait so many seconds, or until the run has to end: then, and in later calls, return True."""
    cleaned: int = 0
    """How often the pipeline was cleaned and restarted: each time its streams begin anew."""
    keep: Callable[[Mapping[str, Any]], None] = lambda _: None
    """Keep the rows that the pipeline is there to show, in the place of those of its runs before."""
    range: Range | None = None
    """The part that a backfill is about; None for a usual run."""
