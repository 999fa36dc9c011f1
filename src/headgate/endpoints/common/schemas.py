"""What bodies are made of: a field that nobody knows is an error, and nothing is longer than it has to be."""

import json
from functools import cache
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from headgate.endpoints.common.lookup import Text

Row = TypeVar("Row", bound=BaseModel)


class StrictSchema(BaseModel):
    """A body. A field that it does not have is an error, so that nothing is set by being guessed at."""

    model_config = ConfigDict(extra="forbid")


class Page(BaseModel, Generic[Row]):
    """A part of a list: `next` is the cursor of the following part, None at the end."""

    items: list[Row]
    next: str | None
    revision: int


@cache
def page_model(row: type[BaseModel]) -> type[BaseModel]:
    """Return the schema of a page of rows; the OpenAPI document names it after them."""
    return create_model(f"{row.__name__.removesuffix('Summary')}Page", __base__=Page[row])


Called = Annotated[Text, Field(min_length=1, max_length=1000)]
"""An id, or a name that people write."""

Title = Annotated[Text, Field(min_length=1, max_length=255)]
"""A new name. Which can be one, the command says."""

Time = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
"""Seconds since the epoch."""


LARGEST = 256 * 1024
"""So many bytes of JSON at most."""


def _require_storable(document: dict[str, Any]) -> dict[str, Any]:
    try:
        size = len(json.dumps(document, ensure_ascii=False, allow_nan=False).encode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if size > LARGEST:
        raise ValueError(f"it has {size} bytes; {LARGEST} are the most")
    return document


Document = Annotated[dict[Text, Any], AfterValidator(_require_storable)]
"""A JSON object that can be written down."""
