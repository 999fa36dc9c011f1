"""What bodies are made of: a field that nobody knows is an error, and nothing is longer than it has to be."""

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from headgate.endpoints.common.lookup import Text

Row = TypeVar("Row", bound=BaseModel)


class Strict(BaseModel):
    """A body. A field that it does not have is an error, so that nothing is set by being guessed at."""

    model_config = ConfigDict(extra="forbid")


class Page(BaseModel, Generic[Row]):
    """A part of a list: `next` is the cursor of the following part, None at the end."""

    items: list[Row]
    next: str | None
    revision: int


Called = Annotated[Text, Field(min_length=1, max_length=1000)]
"""An id, or a name that people write."""

Title = Annotated[Text, Field(min_length=1, max_length=255)]
"""A new name. Which can be one, the command says."""

Time = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
"""Seconds since the epoch."""
