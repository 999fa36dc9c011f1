"""Declared inputs and outputs of a pipeline's definition, and the relations that they become."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.control.kernel.errors import NotFoundError
from headgate.control.questions.hidden_names import NameAuthorizer
from headgate.facts.caller import Caller
from headgate.facts.changes import Attributes, Edge, Relations
from headgate.facts.ids import ResourceId
from headgate.pipelines.definitions.definition import split_name

_CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Output:
    """A table that a pipeline writes, by its full name. `stream` is its name in the definition."""

    stream: str
    table: str
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class DeclaredIO:
    """Names that a definition declares. `others` are relations to other things than tables: `connections`, `source`, ...

    `attributes` are attributes that decisions on the pipeline depend on, such as the kind of a table service.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])


def input_edges(touches: DeclaredIO, gate: NameAuthorizer, caller: Caller) -> Relations:
    """Return the declared names as relations to resources.

    A cluster becomes an edge only if the access model has clusters as resources; otherwise its name is the operator's.
    Raises `NotFoundError` for a name that the caller may not see, with the same message whether it exists or not.
    """
    clusters = tuple(
        each for each in touches.others.get(_CLUSTER, ()) if gate.discover(caller, split_name(each)).resource
    )
    named = {**touches.others, _CLUSTER: clusters, "inputs": touches.inputs}
    found = {
        relation: tuple(Edge(_require_visible(gate, caller, split_name(name)), name=name) for name in names)
        for relation, names in named.items()
        if names
    }
    return {**found, **(output_edges(touches.outputs, gate, caller) if touches.outputs else {})}


def output_edges(outputs: tuple[Output, ...], gate: NameAuthorizer, caller: Caller) -> Relations:
    """Return the outputs as relations to resources. Raises as `input_edges` does.

    An output that does not exist yet, or that the caller may not see, becomes an edge to its layer.
    """
    layers = tuple(_layer(each, gate, caller) for each in outputs)
    tables = tuple(_table(each, layer, gate, caller) for each, layer in zip(outputs, layers, strict=True))
    return {"output_layers": layers, "outputs": tables}


def _layer(output: Output, gate: NameAuthorizer, caller: Caller) -> Edge:
    *above, table = split_name(output.table)
    return Edge(_require_visible(gate, caller, tuple(above)), output.enabled, table)


def _table(output: Output, layer: Edge, gate: NameAuthorizer, caller: Caller) -> Edge:
    table = gate.discover(caller, split_name(output.table)).resource
    return Edge(table, output.enabled, output.stream) if table else Edge(layer.target, output.enabled, layer.name)


def _require_visible(gate: NameAuthorizer, caller: Caller, names: tuple[str, ...]) -> ResourceId:
    verdict = gate.discover(caller, names)
    if verdict.resource is None:
        raise NotFoundError(gate.hidden(names))
    return verdict.resource
