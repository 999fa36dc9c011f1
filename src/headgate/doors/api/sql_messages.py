"""What is sent and answered by SQL over HTTP."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python

from headgate.doors.api.bodies import Strict
from headgate.doors.api.names import Text
from headgate.doors.api.routing import Problem
from headgate.doors.problems import ProblemError, statement_problem
from headgate.spark.kept import KeptStatement
from headgate.spark.statements import SqlLimits, Wanted

PAGE = 10_000
"""So many rows in one answer at most."""
ROWS = 1_000
"""So many rows where nobody says how many."""

ARROW = "application/vnd.apache.arrow.stream"

_Parameter = Text | Annotated[int, Field(ge=-(2**63), lt=2**63)] | float | bool | None


class Statement(Strict):
    """One SQL statement, with what is wanted of it at most.

    `parameters` are values for `:name`, or for each `?` in order. `limit` is how many rows are wanted. With `wait_seconds` it
    is answered after that time at the latest; what is not done by then goes on, and is asked for by its id.
    """

    statement: Annotated[Text, Field(min_length=1, max_length=1_000_000)]
    parameters: dict[Text, _Parameter] | list[_Parameter] | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    bytes: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    wait_seconds: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] | None = None

    def wanted(self, limits: SqlLimits, *, kept: bool) -> Wanted:
        """Return it within the limits of the deployment; `kept` if its rows are."""
        most = limits.kept_bytes if kept else limits.bytes
        rows = self.limit or (ROWS if kept else limits.rows)
        return Wanted(
            text=self.statement,
            parameters=self.parameters,
            rows=min(rows, limits.rows),
            bytes=min(self.bytes or most, most),
            seconds=min(self.seconds or limits.seconds, limits.seconds),
        )


class ShownColumn(BaseModel):
    """A column of a result, with its type in Spark's words."""

    name: str
    type: str


class ShownProgress(BaseModel):
    """How far Spark says that a statement is; `bytes` are those read so far."""

    stages: int
    stages_done: int
    tasks: int
    tasks_done: int
    tasks_running: int
    bytes: int


class ShownStatement(BaseModel):
    """A statement, and its rows, column by column, once it succeeded.

    `id` is there as long as it can be asked for. `more` says that there are other rows than those that were wanted, `next` where
    the next part of those begins. `problem` is why it failed.
    """

    id: str | None
    state: Literal["running", "succeeded", "failed", "cancelled"]
    progress: ShownProgress
    columns: list[ShownColumn]
    rows: list[list[Any]]
    more: bool
    next: int | None
    problem: Problem | None = None


def shown(kept: KeptStatement, start: int, rows: int) -> dict[str, Any]:
    """Return a statement with so many of its rows, from one on. Raises `ProblemError` for a value that JSON cannot hold.

    Bytes are written in URL-safe base64, numbers that are none as words.
    """
    state, table = kept.state, kept.rows
    found: list[list[Any]] = []
    left = 0
    if table is not None:
        part = table.slice(start, rows)
        left = max(0, table.num_rows - start - rows)
        try:
            found = to_jsonable_python(
                list(zip(*(column.to_pylist() for column in part.columns), strict=True)),
                bytes_mode="base64",
                inf_nan_mode="strings",
            )
        except (OverflowError, ValueError) as error:
            raise ProblemError(400, "statement-failed", f"a value cannot be shown ({error}); cast it") from None
    return {
        "id": kept.id,
        "state": state,
        "progress": kept.progress,
        "columns": kept.columns,
        "rows": found,
        "more": kept.more,
        "next": start + rows if left else None,
        "problem": statement_problem(kept.error) if kept.error else None,
    }
