"""Base schemas of request bodies and pages: unknown fields are errors, and every text and list has a maximum length."""

import json
from functools import cache
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from headgate.endpoints.common.lookup import Text

Row = TypeVar("Row", bound=BaseModel)


class StrictSchema(BaseModel):
    """Base of request bodies. An unknown field is an error, so that a misspelled field is not silently ignored."""

    model_config = ConfigDict(extra="forbid")


class Page(BaseModel, Generic[Row]):
    """A page of a list. `next` is the cursor of the next page, null at the end."""

    items: list[Row]
    next: str | None
    revision: int


@cache
def page_model(row: type[BaseModel]) -> type[BaseModel]:
    """Return the schema of a page of rows; its name in the OpenAPI document is derived from that of the rows."""
    return create_model(f"{row.__name__.removesuffix('Summary')}Page", __base__=Page[row])


Called = Annotated[Text, Field(min_length=1, max_length=1000)]
"""An id or a name."""

Title = Annotated[Text, Field(min_length=1, max_length=255)]
"""A new name. The command checks its characters."""

Time = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
"""Seconds since the epoch."""


LARGEST = 256 * 1024
"""The maximum size of a document, in bytes of JSON."""


def _require_storable(document: dict[str, Any]) -> dict[str, Any]:
    try:
        size = len(json.dumps(document, ensure_ascii=False, allow_nan=False).encode())
    except RecursionError:
        raise ValueError("the document is nested too deeply for JSON; use fewer levels") from None
    if size > LARGEST:
        raise ValueError(f"the document has {size} bytes as JSON, and at most {LARGEST} are allowed; shorten it")
    return document


Document = Annotated[dict[Text, Any], AfterValidator(_require_storable)]
"""A JSON object that can be stored: of limited size and depth, without NaN and infinite numbers."""
