"""Commands for pipelines: their definition, what they declare, and their run-as principal. Runs are in `runs`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.operations import OperationPlace
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
"""The types of resources that a pipeline may name in each relation."""


@dataclass(frozen=True, slots=True)
class SavePipeline:
    """Create a pipeline at a place, or replace the definition of an existing one.

    Its runs have the privileges of the principal that saved it last, or of the service principal `run_as`. `attributes` are
    those that decisions depend on, such as the kind of a table service.
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
        """Creating requires what the model says; changing requires `edit` on the pipeline before and after the change.

        Both require `connection.use` on each connection and the privilege to act as `run_as`, which must be allowed all
        that the pipeline declares.
        """
        kinds = shipped_vocabulary().pipeline_kinds
        if self.kind not in kinds:
            raise InvalidError(f"`{self.kind}` is not a kind of pipeline; choose from {', '.join(kinds)}")
        if view.caller is None:
            raise InvalidError(
                "a pipeline must be saved by a user or a service principal, because its runs use the privileges of that "
                "principal; send the request with a token of one"
            )
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
            each.require_operation(self.name, {"pipeline": found})
        self._remade(view, found)
        # A running attempt has read the old definition, and has the privileges of its run-as principal at that time.
        require_not_running(view, self.pipeline, self.title)
        return changes

    def _changes(self, found: Resource) -> tuple[Change, ...]:
        relations = RelationsSet(found.id, self.relations)
        if not self.attributes:
            return (relations,)
        return relations, AttributesSet(found.id, {**found.attributes, **self.attributes})

    def _remade(self, view: CommandContext, found: Resource) -> None:
        """Require the privileges for moving the pipeline, and for creating it as changed.

        Creation matters where the model checks the new relations only then.
        """
        model = view.model_for(found.type, found.id)
        named = targets(self.relations)
        added = {name for name, ids in named.items() if not set(ids) <= set(targets(found.relations).get(name, ()))}
        if "cluster" in added:
            place = OperationPlace(found, on={"cluster": named["cluster"]})
            view.require_operation("resource.move_to_cluster", {"resource": place}, verb="move_to_cluster")
        if found.type not in model.derived and added & list_needed_relations(model):
            given = {**found.attributes, **self.attributes}
            place = OperationPlace(view.target(found.parent), named, given)
            view.require_operation("resource.create", {"parent": place}, type=found.type)

    def _know_targets(self, view: CommandContext) -> None:
        for relation, edges in self.relations.items():
            if relation not in _TARGETS:
                raise InvalidError(f"a pipeline has no relation `{relation}`; choose from {', '.join(_TARGETS)}")
            for edge in edges:
                view.resource(edge.target, *_TARGETS[relation])


@dataclass(frozen=True, slots=True)
class DeletePipeline:
    """Delete a pipeline; the tables that it wrote stay."""

    pipeline: ResourceId
    name: str = "pipeline.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `delete` on the pipeline."""
        view.target(self.pipeline, *shipped_vocabulary().pipeline_kinds)
        return DeleteResource(self.pipeline).decide(view)


def targets(relations: Relations) -> Mapping[str, tuple[ResourceId, ...]]:
    """Return the targets of relations, by relation."""
    return {relation: tuple(edge.target for edge in edges) for relation, edges in relations.items()}


def use_connections(view: CommandContext, pipeline: Resource) -> None:
    """Require `connection.use` on every connection that a pipeline or its source declares."""
    for edge in declared_edges(view.facts, pipeline, "connections"):
        view.require_action("connection.use", edge.target)


def require_not_running(view: CommandContext, pipeline: ResourceId, name: str) -> None:
    """Raise `InvalidError` if a run of the pipeline is under way."""
    if any(each.pipeline == pipeline for each in view.facts.runs.values()):
        raise InvalidError(f"a run of `{name}` is under way; wait until it has ended, or cancel it")
