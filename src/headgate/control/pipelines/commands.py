"""Pipelines: what they declare, and whose rights their runs use. The runs themselves are in `runs`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ports import DocumentPut
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.control.pipelines.run_as import resolve_run_as
from headgate.control.resources.commands import CreateResource, DeleteResource, list_needed_relations
from headgate.decision.run_scope import pipeline_edges as declared_edges
from headgate.facts.changes import Attributes, AttributesSet, Change, Relations, RelationsSet, RunAsSet
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Resource

_TARGETS = {
    "inputs": ("table", "volume"),
    "outputs": ("table", "volume", "database"),
    "output_layers": ("database",),
    "connections": ("connection",),
    "source": ("source",),
    "cluster": ("cluster",),
    "target": ("database",),
    "catalog": ("catalog",),
}
"""What a pipeline may name by each relation."""


@dataclass(frozen=True, slots=True)
class SavePipeline:
    """Make a pipeline at a place, or replace the definition of one.

    Its runs use the rights of who saved it last, or of the service principal `run_as`. `attributes` are the words that
    decide about it, as the kind of a table service.
    """

    pipeline: ResourceId
    place: ResourceId
    kind: str
    title: str
    relations: Relations
    definition: Mapping[str, Any]
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])
    run_as: PrincipalId | None = None
    name: str = "pipeline.save"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Making needs what the model says; changing needs `edit` on the pipeline as it is and as it would be.

        Either way `connection.use` on each connection, to act as `run_as`, and that one needs all that is declared.
        """
        kinds = shipped_vocabulary().pipeline_kinds
        if self.kind not in kinds:
            raise InvalidError(f"`{self.kind}` is not a kind of pipeline; there are {', '.join(kinds)}")
        if view.caller is None:
            raise InvalidError("a pipeline is saved by a principal, whose rights its runs use")
        self._know_targets(view)
        exists = self.pipeline in view.facts.resources
        changes = self._replace(view) if exists else self._created(view)
        after = view.with_changes(*changes)
        saved = after.facts.resources[self.pipeline]
        use_connections(after, saved)
        run_as = resolve_run_as(after, saved, self.run_as)
        document = DocumentPut("pipeline", self.pipeline, dict(self.definition))
        return CommandEffect((*changes, RunAsSet(self.pipeline, run_as)), (document,))

    def _created(self, view: CommandContext) -> tuple[Change, ...]:
        made = CreateResource(self.pipeline, self.kind, self.place, self.title, self.relations, self.attributes)
        return made.decide(view).changes

    def _replace(self, view: CommandContext) -> tuple[Change, ...]:
        found = view.target(self.pipeline, self.kind)
        changes = self._changes(found)
        for each in (view, view.with_changes(*changes)):
            each.require_action(f"{self.kind}.edit", found.id)
        self._remade(view, found)
        # An attempt reads the definition when it begins, with the rights of whoever had saved it then.
        require_not_running(view, self.pipeline, self.title)
        return changes

    def _changes(self, found: Resource) -> tuple[Change, ...]:
        relations = RelationsSet(found.id, self.relations)
        if not self.attributes:
            return (relations,)
        return relations, AttributesSet(found.id, {**found.attributes, **self.attributes})

    def _remade(self, view: CommandContext, found: Resource) -> None:
        """Require what making it so needs, where the model asks about what it names only then; and to move it."""
        model = view.model_for(found.type, found.id)
        named = targets(self.relations)
        added = {name for name, ids in named.items() if not set(ids) <= set(targets(found.relations).get(name, ()))}
        if "cluster" in added:
            action = f"{found.type}.move_to_cluster"
            view.require_action(action, found.id, on={"cluster": named["cluster"]})
        if found.type not in model.derived and added & list_needed_relations(model):
            parent = view.target(found.parent)
            action = f"{parent.type}.create_{found.type}"
            view.require_action(action, parent.id, on=named, given={**found.attributes, **self.attributes})

    def _know_targets(self, view: CommandContext) -> None:
        for relation, edges in self.relations.items():
            if relation not in _TARGETS:
                raise InvalidError(f"a pipeline has no relation `{relation}`; it has {', '.join(_TARGETS)}")
            for edge in edges:
                view.resource(edge.target, *_TARGETS[relation])


@dataclass(frozen=True, slots=True)
class DeletePipeline:
    """The pipeline goes; the tables it wrote stay."""

    pipeline: ResourceId
    name: str = "pipeline.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `delete` on the pipeline."""
        view.target(self.pipeline, *shipped_vocabulary().pipeline_kinds)
        return DeleteResource(self.pipeline).decide(view)


def targets(relations: Relations) -> Mapping[str, tuple[ResourceId, ...]]:
    """Return what relations name."""
    return {relation: tuple(edge.target for edge in edges) for relation, edges in relations.items()}


def use_connections(view: CommandContext, pipeline: Resource) -> None:
    """Require the use of every connection that a pipeline declares, by itself or by its source."""
    for edge in declared_edges(view.facts, pipeline, "connections"):
        view.require_action("connection.use", edge.target)


def require_not_running(view: CommandContext, pipeline: ResourceId, name: str) -> None:
    """Raise `InvalidError` if a run of the pipeline is under way."""
    if any(each.pipeline == pipeline for each in view.facts.runs.values()):
        raise InvalidError(f"`{name}` is running; wait for that run to end")
