"""The definition of a stream capture: the folder whose files it loads, and the table that it writes."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from headgate.pipelines.definitions.definition import DefinitionName, PipelineDefinition, TableName

_BELOW = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^/\\*?\[\]{}.][^\\*?\[\]{}]*$|^$")]


class StreamCaptureDefinition(PipelineDefinition):
    """Loads the files of a folder into a table, each exactly once, and polls for new files."""

    kind: Literal["stream_capture"]
    source: DefinitionName | None = Field(default=None, description="a source whose connection it uses")
    connection: DefinitionName | None = Field(default=None, description="or a connection to a folder")
    path: _BELOW = Field(
        default="", description="a folder below the connection's folder; empty: the connection's folder"
    )
    format: Literal["csv", "json", "parquet"] = "csv"
    into: TableName
    columns: str = Field(
        default="", description="columns with their types as in CREATE TABLE; types of other columns are inferred"
    )
    null_value: str = Field(default="", description="the text that means NULL in a CSV file")
    every: float | None = Field(
        default=10.0,
        gt=0,
        le=86_400,
        description="seconds between two polls of the folder; null: a run loads the present files and ends",
    )
    files_at_once: int = Field(default=1000, ge=1, le=100_000, description="maximum number of files per commit")

    @model_validator(mode="after")
    def _from_somewhere(self) -> Self:
        if self.source is None and self.connection is None:
            raise ValueError("the stream capture has neither `source` nor `connection`; set one of them")
        if self.source is not None and self.connection is not None:
            raise ValueError("the stream capture has both `source` and `connection`; remove one of them")
        if ".." in self.path.split("/"):
            raise ValueError("`path` contains `..`; name a folder below the folder of the connection")
        return self
