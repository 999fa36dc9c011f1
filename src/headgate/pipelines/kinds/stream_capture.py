"""A stream capture: files that come into a folder are taken into a table, each exactly once, until it is paused."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from headgate.pipelines.definitions.context import Execution
from headgate.pipelines.definitions.declared_io import Output, Touches
from headgate.pipelines.definitions.definition import Name, PipelineDefinition, TableName, parts
from headgate.pipelines.definitions.kind import Kind

_BELOW = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^/\\*?\[\]{}.][^\\*?\[\]{}]*$|^$")]


class StreamCaptureDefinition(PipelineDefinition):
    """Takes the files of a folder into a table, each once, and looks again for new ones."""

    kind: Literal["stream_capture"]
    source: Name | None = Field(default=None, description="a source, whose connection it reads through")
    connection: Name | None = Field(default=None, description="or a connection to a folder")
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


def _touches(definition: StreamCaptureDefinition) -> Touches:
    others = {"connections": definition.connection, "source": definition.source, "cluster": definition.cluster}
    named = {relation: (name,) for relation, name in others.items() if name is not None}
    database = ".".join(parts(definition.into)[:-1])
    return Touches(outputs=(Output(definition.name, definition.into),), others={**named, "target": (database,)})


def _run(definition: StreamCaptureDefinition, execution: Execution) -> None:
    from headgate.pipelines.kinds.capturing import capture

    capture(definition, execution)


KIND = Kind("stream_capture", StreamCaptureDefinition, _touches, _run)
