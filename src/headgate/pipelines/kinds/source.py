"""A source: files, tables of a database or records of an HTTP API behind one connection, one table per stream."""

from collections import Counter
from typing import Literal, Self

from pydantic import Field, model_validator

from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.definition import MAX_ENTRIES, DefinitionName, PipelineDefinition
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.loading.streams import SourceStream, list_outputs


class Streaming(PipelineDefinition):
    """What has streams: a connection, and what is read through it."""

    connection: DefinitionName
    streams: tuple[SourceStream, ...] = Field(
        default=(), max_length=MAX_ENTRIES, description="none where others read through the source"
    )

    @model_validator(mode="after")
    def _each_apart(self) -> Self:
        written = [each.table for each in list_outputs(self.streams)]
        for what, names in (("name", [each.name for each in self.streams]), ("table", written)):
            twice = next((each for each, count in Counter(names).items() if count > 1), None)
            if twice is not None:
                raise ValueError(f"two streams have the {what} `{twice}`")
        return self


class SourceDefinition(Streaming):
    """Reads through a declared connection into one table per stream."""

    kind: Literal["source"]


def declare_io(definition: Streaming) -> DeclaredIO:
    """Return what something with streams declares."""
    return DeclaredIO(outputs=list_outputs(definition.streams), others={"connections": (definition.connection,)})


def run_source(definition: Streaming, execution: RunExecution) -> None:
    """Load every enabled stream, in the order of the definition. Raises what `load` does."""
    from headgate.pipelines.loading.load import load

    for stream in definition.streams:
        if stream.enabled:
            load(stream, definition.connection, execution)


def backfill_unsupported_reason(definition: Streaming) -> str | None:
    """Return why no run can load a part of the past; None where one can."""
    without = next((each.name for each in definition.streams if each.enabled and each.cursor is None), None)
    return f"the stream `{without}` has no `cursor`, by which a part of the past is known" if without else None


KIND = Kind("source", SourceDefinition, declare_io, run_source, backfill_unsupported_reason)
