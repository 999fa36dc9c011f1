"""The definition of a stream capture: the folder that it takes files from, and the table that it writes."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from headgate.pipelines.definitions.definition import DefinitionName, PipelineDefinition, TableName

_BELOW = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^/\\*?\[\]{}.][^\\*?\[\]{}]*$|^$")]


class StreamCaptureDefinition(PipelineDefinition):
    """Takes the files of a folder into a table, each once, and looks again for new ones."""

    kind: Literal["stream_capture"]
    source: DefinitionName | None = Field(default=None, description="a source, whose connection it reads through")
    connection: DefinitionName | None = Field(default=None, description="or a connection to a folder")
    path: _BELOW = Field(default="", description="the folder below that of the connection; empty: that itself")
    format: Literal["csv", "json", "parquet"] = "csv"
    into: TableName
    columns: str = Field(
        default="", description="columns with their types as in CREATE TABLE; of others the files tell"
    )
    null_value: str = Field(default="", description="how a missing value is written in a CSV file")
    every: float | None = Field(
        default=10.0, gt=0, le=86_400, description="seconds between two looks; null: a run takes what is there and ends"
    )
    files_at_once: int = Field(default=1000, ge=1, le=100_000, description="how many files one commit takes in at most")

    @model_validator(mode="after")
    def _from_somewhere(self) -> Self:
        if (self.source is None) is (self.connection is None):
            raise ValueError("name either a `source` or a `connection`")
        if ".." in self.path.split("/"):
            raise ValueError("`path` leads below the folder of the connection")
        return self
