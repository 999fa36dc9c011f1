"""The kind `source`: loads files, tables of a database or records of an HTTP API from one connection, one table per stream."""

from collections import Counter
from typing import Literal, Self

from pydantic import Field, model_validator

from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.definition import MAX_ENTRIES, DefinitionName, PipelineDefinition
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.loading.streams import SourceStream, list_outputs


class Streaming(PipelineDefinition):
    """A definition with streams: a connection, and the streams that are read through it."""

    connection: DefinitionName
    streams: tuple[SourceStream, ...] = Field(
        default=(), max_length=MAX_ENTRIES, description="empty if only other pipelines read through the source"
    )

    @model_validator(mode="after")
    def _each_apart(self) -> Self:
        written = [each.table for each in list_outputs(self.streams)]
        for what, names in (("name", [each.name for each in self.streams]), ("table", written)):
            twice = next((each for each, count in Counter(names).items() if count > 1), None)
            if twice is not None:
                raise ValueError(f"two streams have the {what} `{twice}`; give each stream its own {what}")
        return self


class SourceDefinition(Streaming):
    """Reads through a declared connection into one table per stream."""

    kind: Literal["source"]


def declare_io(definition: Streaming) -> DeclaredIO:
    """Return the declared outputs and connection of a definition with streams."""
    return DeclaredIO(outputs=list_outputs(definition.streams), others={"connections": (definition.connection,)})


def run_source(definition: Streaming, execution: RunExecution) -> None:
    """Load every enabled stream, in the order of the definition. Raises what `load` does."""
    from headgate.pipelines.loading.load import load

    for stream in definition.streams:
        if stream.enabled:
            load(stream, definition.connection, execution)


def backfill_unsupported_reason(definition: Streaming) -> str | None:
    """Return why a definition cannot be backfilled; None if it can be."""
    without = next((each.name for each in definition.streams if each.enabled and each.cursor is None), None)
    return f"the stream `{without}` has no `cursor`, which a backfill needs; set one" if without else None


KIND = Kind("source", SourceDefinition, declare_io, run_source, backfill_unsupported_reason)
