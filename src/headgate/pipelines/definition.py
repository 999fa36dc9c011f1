"""What a pipeline's definition says, and the relations that follow from it."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from headgate.control.command import MissingError
from headgate.control.gate import Gate
from headgate.facts.caller import Caller
from headgate.facts.changes import Edge, Relations
from headgate.facts.ids import ResourceId

Name = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^./`*\s]+$")]
TableName = Annotated[str, StringConstraints(pattern=r"^[^./`*\s]+\.[^./`*\s]+\.[^./`*\s]+$")]
"""A full name: lake, database, table."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Stream(_Strict):
    """One file of the connection, loaded in full into one table."""

    name: Name
    file: Annotated[str, StringConstraints(min_length=1, pattern=r"^[^/\\]+$")]
    format: Literal["csv", "json", "parquet"] = "csv"
    into: TableName
    columns: str = Field(default="", description="the columns as in CREATE TABLE; empty: the file's own")
    null_value: str = Field(default="", description="how a missing value is written in a CSV file")
    enabled: bool = True


class SourceDefinition(_Strict):
    """Reads files through a declared connection into one table per stream."""

    kind: Literal["source"]
    name: Name
    connection: Name
    streams: tuple[Stream, ...] = Field(min_length=1)


class QueryDefinition(_Strict):
    """Writes the rows of one SELECT into a table, in full at each run."""

    kind: Literal["query"]
    name: Name
    into: TableName
    inputs: tuple[TableName, ...] = Field(min_length=1)
    sql: Annotated[str, StringConstraints(min_length=1)]


Definition = Annotated[SourceDefinition | QueryDefinition, Field(discriminator="kind")]


def parts(name: str) -> tuple[str, ...]:
    """Return the parts of a full name."""
    return tuple(name.split("."))


def relations(definition: SourceDefinition | QueryDefinition, gate: Gate, caller: Caller) -> Relations:
    """Return what the definition declares, as edges.

    Raises `MissingError` for a name that the caller may not see, in the same words whether it exists or not.
    """
    found = dict(written(definition, gate, caller))
    match definition:
        case SourceDefinition():
            place = _seen(gate, caller, (definition.connection,))
            found["connections"] = (Edge(place, name=definition.connection),)
        case QueryDefinition():
            found["inputs"] = tuple(Edge(_seen(gate, caller, parts(name)), name=name) for name in definition.inputs)
    return found


def written(definition: SourceDefinition | QueryDefinition, gate: Gate, caller: Caller) -> Relations:
    """Return what the definition writes, as edges. Raises what `relations` does.

    An output that is not there yet, or that the caller may not see, is its layer: so far that is what it touches.
    """
    outputs = list(_outputs(definition))
    layers = tuple(Edge(_seen(gate, caller, into[:2]), enabled, into[2]) for _, into, enabled in outputs)
    tables = tuple(
        Edge(table, enabled, stream)
        if (table := gate.discover(caller, into).resource)
        else Edge(layer.target, enabled, into[2])
        for (stream, into, enabled), layer in zip(outputs, layers, strict=True)
    )
    return {"output_layers": layers, "outputs": tables}


def _outputs(definition: SourceDefinition | QueryDefinition) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    match definition:
        case SourceDefinition():
            yield from ((each.name, parts(each.into), each.enabled) for each in definition.streams)
        case QueryDefinition():
            yield (definition.name, parts(definition.into), True)


def _seen(gate: Gate, caller: Caller, names: tuple[str, ...]) -> ResourceId:
    verdict = gate.discover(caller, names)
    if verdict.resource is None:
        raise MissingError(gate.hidden(names))
    return verdict.resource
