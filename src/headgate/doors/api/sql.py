"""SQL over HTTP: one statement, as the caller, through the same gateway as everybody."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from headgate.doors.api.names import Text
from headgate.doors.services import Bearer, By, Uses

router = APIRouter(tags=["sql"])


class Statement(BaseModel):
    """One SQL statement, and how many rows are wanted at most."""

    statement: Annotated[Text, Field(min_length=1, max_length=1_000_000)]
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000


class Column(BaseModel):
    """A column of a result: its name and Spark's name of its type."""

    name: str
    type: str


class Result(BaseModel):
    """What a statement gave; bytes are written in base64."""

    model_config = ConfigDict(ser_json_bytes="base64")

    columns: list[Column]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


@router.post("/sql")
def run_sql(body: Statement, services: Uses, token: Bearer, _: By) -> Result:
    """Run it; a refusal is a problem with SQLSTATE 42501."""
    result = services.statements.run(token, body.statement, body.limit)
    columns = [Column(name=name, type=type) for name, type in zip(result.columns, result.types, strict=True)]
    return Result(columns=columns, rows=result.rows, more=result.more)
