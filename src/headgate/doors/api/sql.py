"""SQL over HTTP: one statement, as the caller, through the same gateway as everybody."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python

from headgate.doors.api.bodies import Strict
from headgate.doors.api.names import Text
from headgate.doors.api.routing import own
from headgate.doors.services import By, Secret, Uses, at_home

router = APIRouter(tags=["sql"])


class Statement(Strict):
    """One SQL statement, and how many rows are wanted at most."""

    statement: Annotated[Text, Field(min_length=1, max_length=1_000_000)]
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000


class Column(BaseModel):
    """A column of a result, with its type in Spark's words."""

    name: str
    type: str


class Result(BaseModel):
    """The rows of a statement, column by column; `more` says whether there are others."""

    columns: list[Column]
    rows: list[list[Any]]
    more: bool


@router.post(
    "/sql",
    response_model=Result,
    dependencies=[Depends(at_home)],
    **own("Spark's guard decides on everything that the statement touches"),
)
def run_sql(body: Statement, services: Uses, token: Secret, _: By) -> dict[str, Any]:
    """Run it; a refusal is a problem with SQLSTATE 42501. Bytes are written in URL-safe base64, numbers that are none as words."""
    result = services.statements.run(token, body.statement, body.limit)
    columns = [{"name": name, "type": type} for name, type in zip(result.columns, result.types, strict=True)]
    rows = to_jsonable_python(result.rows, bytes_mode="base64", inf_nan_mode="strings")
    return {"columns": columns, "rows": rows, "more": result.more}
