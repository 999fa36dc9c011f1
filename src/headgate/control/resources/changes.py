"""Commands that change the name or the relations of a resource, without privilege escalation for the caller."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.control.access.escalation import (
    require_may_grant_bridge,
    require_no_escalation,
    require_no_escalation_below,
)
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.operations import OperationPlace
from headgate.control.resources.commands import list_needed_relations
from headgate.control.resources.generic_types import require_generic_type
from headgate.facts.changes import Edge, Relations, RelationsSet, ResourceRenamed
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource
from headgate.model.model import Model

MOVED_BY: Mapping[tuple[str, str], str] = {
    ("job", "cluster"): "move_to_cluster",
    ("stream_capture", "cluster"): "move_to_cluster",
    ("table", "services_cluster"): "change_services_cluster",
}
"""The action that changes a relation, for relations with their own action: by type and relation."""


@dataclass(frozen=True, slots=True)
class RenameResource:
    """Rename a resource. Its assignments stay."""

    resource: ResourceId
    title: str
    name: str = "resource.rename"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require to edit it. A table is renamed by `RenameTable`, as in SQL."""
        found = view.target(self.resource)
        require_generic_type(found.type)
        view.require_operation(self.name, {"resource": found})
        if found.type == "table":
            raise InvalidError(
                "the request cannot rename a `table`; use the SQL statement `ALTER TABLE ... RENAME TO ...`"
            )
        if found.id == view.root:
            raise InvalidError(
                f"the `{found.type}` itself cannot be renamed as a resource; send `PATCH /api/v1/organization` with the new name"
            )
        view.new_name(found.id, found.parent, self.title)
        change = ResourceRenamed(found.id, found.parent, self.title)
        require_no_escalation(view, found.id, change)
        return CommandEffect((change,))


@dataclass(frozen=True, slots=True)
class ChangeRelations:
    """Replace the edges of these relations of a resource; the other relations stay."""

    resource: ResourceId
    relations: Relations
    name: str = "resource.change_relations"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require to edit it before and after the change, to see newly named resources, and to grant the access that they open.

        If creating the resource depends on one of these relations, the privilege to create it so is required too.
        """
        found = view.target(self.resource)
        require_generic_type(found.type)
        change = RelationsSet(found.id, {**found.relations, **self.relations})
        for each in (view, view.with_changes(change)):
            each.require_operation(self.name, {"resource": found})
        self._have_no_way_of_their_own(view, found)
        added = self._list_added(found)
        model = view.model_for(found.type, found.id)
        for targets in added.values():
            for target in targets:
                view.resource(target)
        require_may_grant_bridge(view, model, added)
        if list_needed_relations(model) & added.keys():
            _makeable(view, model, found, change.relations)
        require_no_escalation(view, found.id, change)
        require_no_escalation_below(view, found.id, change)
        return CommandEffect((change,))

    def _have_no_way_of_their_own(self, view: CommandContext, found: Resource) -> None:
        if found.id in view.facts.run_as:
            raise InvalidError(
                "the relations of a pipeline follow from its definition; change and save the definition instead"
            )
        for relation in self.relations:
            if relation in view.model_for(found.type, found.id).lineage:
                raise InvalidError(
                    f"the relation `{relation}` is the parent of the resource and cannot be set as a relation; move the "
                    "resource instead"
                )
            if (found.type, relation) in MOVED_BY:
                raise InvalidError(
                    f"the relation `{relation}` cannot be set directly; use the action `{MOVED_BY[found.type, relation]}`"
                )

    def _list_added(self, found: Resource) -> Mapping[str, tuple[ResourceId, ...]]:
        """Return the targets that are named, or enabled, only after the change."""
        added = {
            relation: tuple(edge.target for edge in edges if not _counts_already(found, relation, edge))
            for relation, edges in self.relations.items()
        }
        return {relation: targets for relation, targets in added.items() if targets}


def _counts_already(found: Resource, relation: str, edge: Edge) -> bool:
    old = [each for each in found.relations.get(relation, ()) if each.target == edge.target]
    return any(each.enabled or not edge.enabled for each in old)


def _makeable(view: CommandContext, model: Model, found: Resource, relations: Relations) -> None:
    owners = tuple(edge.target for name in model.lineage for edge in relations.get(name, ())) or (found.parent,)
    on = {relation: tuple(edge.target for edge in edges) for relation, edges in relations.items()}
    for owner in owners:
        place = view.target(owner)
        about = OperationPlace(place, on, found.attributes)
        view.require_operation("resource.create", {"parent": about}, type=found.type)
