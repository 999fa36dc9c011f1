"""Schemas of the requests and responses of SQL over HTTP."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.problems import ProblemError, inconvertible_value, statement_problem
from headgate.endpoints.common.route_metadata import Problem
from headgate.endpoints.common.schemas import StrictSchema
from headgate.pipelines.json_size import json_size, rows_within
from headgate.spark.sql.statement_store import StoredStatement
from headgate.spark.sql.statements import Scalar, SqlLimits, StatementRequest

if TYPE_CHECKING:
    import pyarrow as pa

PAGE = 10_000
"""The maximum number of rows in one response."""
PAGE_BYTES = 16 * 1024**2
"""The maximum size of one response in bytes, by an estimate of its rows as JSON."""
ROWS_PER_PAGE = 1_000
"""The default number of rows in one response."""

ARROW = "application/vnd.apache.arrow.stream"

_LARGEST = 2**63


def _of_spark(value: Scalar) -> Scalar:
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise ValueError("the integer has more than 64 bits; send it as a string, and cast it in the statement")
    return value


_Parameter = Annotated[Text | bool | int | float | None, AfterValidator(_of_spark)]


class StatementCreate(StrictSchema):
    """One SQL statement, with limits for its result.

    `parameters` are the values of `:name`, or of every `?` in order. `limit` is the maximum number of rows, `bytes` the maximum
    size of the result, and `seconds` the maximum run time. With `wait_seconds`, the response comes after that time at the
    latest; a statement that still runs continues, and `GET /api/v1/sql/{id}` returns its state and rows.
    """

    statement: Annotated[Text, Field(min_length=1, max_length=1_000_000)]
    parameters: dict[Text, _Parameter] | list[_Parameter] | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    bytes: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    wait_seconds: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] | None = None

    def to_request(self, limits: SqlLimits, *, kept: bool) -> StatementRequest:
        """Return the statement with its limits reduced to those of the deployment; `kept`: the server stores its rows."""
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
    """A column of a result, with its Spark type."""

    name: str
    type: str


class ProgressOfStatement(BaseModel):
    """The progress of a statement in Spark; `bytes` is the number of bytes read so far."""

    stages: int
    stages_done: int
    tasks: int
    tasks_done: int
    tasks_running: int
    bytes: int


class Statement(BaseModel):
    """A statement and, once it has succeeded, its rows.

    `id` is null once the statement can no longer be requested. `more`: the result has more rows than the limit. `next` is the
    number of the first row of the next page: a response has fewer rows than requested if more would be too large. `problem` is
    the reason of a failure. Binary values are URL-safe base64; NaN and infinite numbers are strings.
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
    """One row of a result alone is too large for a response."""

    def __init__(self, kept: StoredStatement, row: int, size: int) -> None:
        detail = (
            f"row {row} of the result needs up to {size / 1024**2:,.1f} MiB as JSON, and a response has at most "
            f"{PAGE_BYTES // 1024**2} MiB; select fewer columns or shorter values, or ask for an Arrow stream with `Accept: {ARROW}`"
        )
        super().__init__(413, "too-large", detail, id=kept.id, row=row)


def statement_answer(kept: StoredStatement, start: int, rows: int) -> Statement:
    """Return a statement with at most `rows` of its rows from `start` on, and no more than fit into one response.

    Raises `ProblemError` for a value that JSON cannot represent, and `RowTooLargeError` if the first row does not fit.
    """
    found, left = [], 0
    if kept.rows is not None:
        try:
            found = _values(kept, kept.rows.slice(start, rows), start)
        except (OverflowError, ValueError) as error:
            raise inconvertible_value(error) from None
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
