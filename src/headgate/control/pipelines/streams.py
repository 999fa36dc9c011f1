"""Streams of a source: adding, enabling and disabling them.

A caller that adds or enables a stream becomes the run-as principal, unless the pipeline has a service principal for that.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.operations import OperationPlace
from headgate.control.kernel.ports import DocumentPut
from headgate.control.pipelines.commands import require_not_running, use_connections
from headgate.control.pipelines.run_as import resolve_run_as
from headgate.facts.changes import Change, Edge, Relations, RelationsSet, RunAsSet
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import NO_NAMES, Resource

_WRITTEN = ("outputs", "output_layers")


@dataclass(frozen=True, slots=True)
class AddStream:
    """Add a stream to a source, which then writes one more table. Its runs use the caller's privileges from now on.

    `relations` are the edges of the stream, `definition` the pipeline's new definition.
    """

    pipeline: ResourceId
    relations: Relations
    definition: Mapping[str, Any]
    name: str = "pipeline.add_stream"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `add_stream` with the tables that it writes, and to use the connection."""
        found = view.target(self.pipeline)
        places = {name: tuple(edge.target for edge in self.relations.get(name, ())) for name in _WRITTEN}
        # A table that does not exist yet is checked by the database in which it will be created.
        on = {
            "outputs": places["outputs"],
            "output_layers": tuple(set(places["output_layers"]) & set(places["outputs"])),
        }
        view.require_operation(self.name, {"pipeline": OperationPlace(found, on=on)})
        for target in (*places["outputs"], *places["output_layers"]):
            view.resource(target, "table", "database")
        added = {name: (*found.relations.get(name, ()), *self.relations.get(name, ())) for name in _WRITTEN}
        change = RelationsSet(found.id, {**found.relations, **added})
        return CommandEffect(
            (change, *_take_over_runs(view, found, change)), (_build_definition(found, self.definition),)
        )


@dataclass(frozen=True, slots=True)
class SwitchStream:
    """Enable or disable a stream of a source. After enabling, its runs use the caller's privileges.

    `layer` and `titles` are the database and the names of the tables that it writes.
    """

    pipeline: ResourceId
    layer: ResourceId
    titles: tuple[str, ...]
    enabled: bool
    definition: Mapping[str, Any]
    name: str = "pipeline.switch_stream"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `enable_stream` with the tables that it writes, and to use the connection; or `disable_stream`."""
        found = view.target(self.pipeline)
        within = view.facts.children.get(self.layer, NO_NAMES)
        tables = {within[title] for title in self.titles if title in within}
        written = tuple(edge.target for edge in found.relations.get("outputs", ()) if self._writes(edge, tables))
        verb = "enable_stream" if self.enabled else "disable_stream"
        place = OperationPlace(found, on={"outputs": written})
        view.require_operation(self.name, {"pipeline": place}, verb=verb)
        if not written:
            raise NotFoundError(
                f"the pipeline `{found.name}` has no stream that writes the table `{self.titles[0]}` in the database; "
                "correct the name of the table or of the database"
            )
        switched = {
            name: tuple(self._switch_edge(edge, tables) for edge in found.relations.get(name, ())) for name in _WRITTEN
        }
        change = RelationsSet(found.id, {**found.relations, **switched})
        taken = _take_over_runs(view, found, change) if self.enabled else ()
        return CommandEffect((change, *taken), (_build_definition(found, self.definition),))

    def _switch_edge(self, edge: Edge, tables: AbstractSet[ResourceId]) -> Edge:
        return replace(edge, enabled=self.enabled) if self._writes(edge, tables) else edge

    def _writes(self, edge: Edge, tables: AbstractSet[ResourceId]) -> bool:
        return edge.target in tables or (edge.target == self.layer and edge.name in self.titles)


def _take_over_runs(view: CommandContext, found: Resource, change: Change) -> tuple[Change, ...]:
    """Return the change of the run-as principal: the caller's, or the service principal that the pipeline already has."""
    after = view.with_changes(change)
    saved = after.facts.resources[found.id]
    use_connections(after, saved)
    run_as = view.facts.run_as.get(found.id)
    present = view.facts.principals.get(run_as) if run_as else None
    service = run_as if present is not None and present.kind == "service_principal" else None
    run_by_now = RunAsSet(found.id, resolve_run_as(after, saved, service))
    require_not_running(view, found.id, found.name)
    return (run_by_now,)


def _build_definition(found: Resource, definition: Mapping[str, Any]) -> DocumentPut:
    return DocumentPut("pipeline", found.id, dict(definition))
