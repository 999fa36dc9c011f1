"""SQL over HTTP: one statement, as the caller, through the same gateway as everybody."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python

from headgate.doors.api.names import Text
from headgate.doors.services import By, Secret, Uses

router = APIRouter(tags=["sql"])


class Statement(BaseModel):
    """One SQL statement, and how many rows are wanted at most."""

    statement: Annotated[Text, Field(min_length=1, max_length=1_000_000)]
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000


@router.post("/sql")
def run_sql(body: Statement, services: Uses, token: Secret, _: By) -> dict[str, Any]:
    """Run it; a refusal is a problem with SQLSTATE 42501. Bytes are written in URL-safe base64."""
    result = services.statements.run(token, body.statement, body.limit)
    columns = [{"name": name, "type": type} for name, type in zip(result.columns, result.types, strict=True)]
    rows = to_jsonable_python(result.rows, bytes_mode="base64")
    return {"columns": columns, "rows": rows, "more": result.more}
