"""What is sent and answered by SQL over HTTP."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.problems import ProblemError, statement_problem
from headgate.endpoints.common.route_metadata import Problem
from headgate.endpoints.common.schemas import StrictSchema
from headgate.pipelines.json_size import json_size, rows_within
from headgate.spark.sql.statement_store import StoredStatement
from headgate.spark.sql.statements import Scalar, SqlLimits, StatementRequest

if TYPE_CHECKING:
    import pyarrow as pa

PAGE = 10_000
"""So many rows in one answer at most."""
PAGE_BYTES = 16 * 1024**2
"""The largest answer, by the estimate of its rows as JSON."""
ROWS_PER_PAGE = 1_000
"""So many rows where nobody says how many."""

ARROW = "application/vnd.apache.arrow.stream"

_LARGEST = 2**63


def _of_spark(value: Scalar) -> Scalar:
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise ValueError("an integer has at most 64 bits; write it as text and cast it")
    return value


_Parameter = Annotated[Text | bool | int | float | None, AfterValidator(_of_spark)]


class StatementCreate(StrictSchema):
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

    def to_request(self, limits: SqlLimits, *, kept: bool) -> StatementRequest:
        """Return it within the limits of the deployment; `kept` if its rows are."""
        most = limits.kept_bytes if kept else limits.bytes
        rows = self.limit or (ROWS_PER_PAGE if kept else limits.rows)
        return StatementRequest(
            text=self.statement,
            parameters=self.parameters,
            rows=min(rows, limits.rows),
            bytes=min(self.bytes or most, most),
            seconds=min(self.seconds or limits.seconds, limits.seconds),
        )


class StatementColumn(BaseModel):
    """A column of a result, with its type in Spark's words."""

    name: str
    type: str


class ProgressOfStatement(BaseModel):
    """How far Spark says that a statement is; `bytes` are those read so far."""

    stages: int
    stages_done: int
    tasks: int
    tasks_done: int
    tasks_running: int
    bytes: int


class Statement(BaseModel):
    """A statement, and its rows, column by column, once it succeeded.

    `id` is there as long as it can be asked for. `more` says that there are other rows than those that were wanted, `next`
    where the next part of those begins: an answer has fewer rows than were asked for where more would be too large. `problem`
    is why it failed. Bytes are written in URL-safe base64, numbers that are none as words.
    """

    model_config = ConfigDict(ser_json_bytes="base64", ser_json_inf_nan="strings")

    id: str | None
    state: Literal["running", "succeeded", "failed", "cancelled"]
    progress: ProgressOfStatement
    columns: list[StatementColumn]
    rows: list[tuple[Any, ...]]
    more: bool
    next: int | None
    problem: Problem | None = None


class RowTooLargeError(ProblemError):
    """One row of a result is too large for an answer by itself."""

    def __init__(self, kept: StoredStatement, row: int, size: int) -> None:
        detail = (
            f"row {row} of the result needs up to {size / 1024**2:,.1f} MiB as JSON, and an answer has at most "
            f"{PAGE_BYTES // 1024**2} MiB; select fewer values of the row, or ask for an Arrow stream with `Accept: {ARROW}`"
        )
        super().__init__(413, "too-large", detail, id=kept.id, row=row)


def statement_answer(kept: StoredStatement, start: int, rows: int) -> Statement:
    """Return a statement with so many of its rows, from one on, that fit into one answer.

    Raises `ProblemError` for a value that JSON cannot hold, and `RowTooLargeError`.
    """
    found, left = [], 0
    if kept.rows is not None:
        try:
            found = _values(kept, kept.rows.slice(start, rows), start)
        except (OverflowError, ValueError) as error:
            raise ProblemError(400, "statement-failed", f"a value cannot be shown ({error}); cast it") from None
        left = max(0, kept.rows.num_rows - start - len(found))
    return Statement(
        id=kept.id,
        state=kept.state,
        progress=ProgressOfStatement(**asdict(kept.progress)),
        columns=[StatementColumn(name=each.name, type=each.type) for each in kept.columns],
        rows=found,
        more=kept.more,
        next=start + len(found) if left else None,
        problem=Problem(**statement_problem(kept.error)) if kept.error else None,
    )


def _values(kept: StoredStatement, part: "pa.Table", start: int) -> list[tuple[Any, ...]]:
    fitting = rows_within(part, PAGE_BYTES)
    if part.num_rows and not fitting:
        raise RowTooLargeError(kept, start, json_size(part.slice(0, 1)))
    if not part.num_columns:
        return [()] * fitting
    # By position: two columns of a result may have the same name.
    return list(zip(*(column.to_pylist() for column in part.slice(0, fitting).columns), strict=True))
