"""Commands that create, move, change and delete resources of any type of the model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from headgate.control.access.escalation import (
    PORT,
    require_adding_access,
    require_adding_access_of_owners,
    require_may_grant_bridge,
    require_no_escalation,
    require_no_escalation_below,
)
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.operations import OperationPlace
from headgate.control.kernel.ports import DocumentPut
from headgate.control.resources.attributes import KIND_ATTRIBUTE, STATE
from headgate.control.resources.document_kinds import document_kinds
from headgate.control.resources.generic_types import require_generic_type
from headgate.control.resources.implicit import creator_assignments, implicit_children
from headgate.facts.changes import (
    Attributes,
    AttributesSet,
    Change,
    Edge,
    Relations,
    RelationsSet,
    ResourceCreated,
    ResourceDeleted,
    ResourceRenamed,
)
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Resource
from headgate.model.model import Model


@dataclass(frozen=True, slots=True)
class CreateResource:
    """Create a resource under its parent, with the implicit children of its model.

    `author` is the creator, if the deployment sends the command. `made_as` replaces the type in the name of the required
    action `create_...`.
    """

    resource: ResourceId
    type: str
    parent: ResourceId
    title: str
    relations: Relations = field(default_factory=dict[str, tuple[Edge, ...]])
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])
    author: PrincipalId | None = None
    made_as: str = ""
    name: str = "resource.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the parent's action for it, or, if a relation of it carries roles down, the action on that relation's target.

        The creator is assigned the roles that the model gives to creators.
        """
        parent = view.target(self.parent)
        require_generic_type(self.type)
        on = {relation: tuple(edge.target for edge in edges) for relation, edges in self.relations.items()}
        for place in self._list_owners(view, parent):
            owner = OperationPlace(place, on, self.attributes)
            view.require_operation("resource.create", {"parent": owner}, type=self.made_as or self.type)
        model = view.model_for(self.type, parent.id)
        for relation in sorted(on.keys() - list_needed_relations(model)):
            for target in on[relation]:
                view.resource(target)
        require_may_grant_bridge(view, model, on)
        _may_lie(model, self.type, parent)
        view.free_id(self.resource)
        view.new_name(self.resource, parent.id, self.title)
        created = ResourceCreated(
            self.resource,
            self.type,
            parent.id,
            self.title,
            view.actor or self.author,
            self.relations,
            self.attributes,
        )
        if self.type == "organization":  # its children and assignments are in its own log
            return CommandEffect((created,))
        if self.type == PORT:
            require_adding_access(view.with_changes(created), self.resource, self.attributes, {})
        below = implicit_children(model, self.resource, self.type)
        return CommandEffect((created, *below, *creator_assignments(view, self.resource, self.type, parent.id, model)))

    def _list_owners(self, view: CommandContext, parent: Resource) -> tuple[Resource, ...]:
        lineage = view.model_for(self.type, parent.id).lineage
        owners = tuple(view.target(edge.target) for name in lineage for edge in self.relations.get(name, ()))
        return owners or (parent,)


@dataclass(frozen=True, slots=True)
class DeleteResource:
    """Delete a resource, with everything below it and all their assignments and documents."""

    resource: ResourceId
    name: str = "resource.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require to delete or drop it."""
        found = view.target(self.resource)
        require_generic_type(found.type)
        view.require_operation("resource.delete", {"resource": found})
        if found.id == view.root:
            raise InvalidError(
                "the organization itself cannot be deleted as a resource; send `DELETE /api/v1/organization`"
            )
        # A change for each resource, so that all other data of it is deleted too.
        gone = [view.facts.resources[id] for id in (*view.facts.list_below(found.id), found.id)]
        erased = tuple(put for each in gone for put in _erase_documents(each))
        return CommandEffect(tuple(ResourceDeleted(each.id) for each in gone), erased)


@dataclass(frozen=True, slots=True)
class MoveResource:
    """Move a resource to another parent; if a relation of it carries roles down, that relation is changed instead."""

    resource: ResourceId
    parent: ResourceId
    name: str = "resource.move"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require to edit and delete it at its old place, and to create it at the new one. The caller and the teams gain nothing."""
        found, place = view.target(self.resource), view.target(self.parent)
        require_generic_type(found.type)
        parent = OperationPlace(place, _targets(found), found.attributes)
        view.require_operation(self.name, {"resource": found, "parent": parent}, type=found.type)
        if place.id == found.id or any(each.id == found.id for each in view.facts.ancestors(place.id)):
            raise InvalidError("a resource cannot be moved below itself; choose another parent")
        change = self._change(view, found, place)
        require_no_escalation(view, found.id, change)
        require_no_escalation_below(view, found.id, change)
        require_adding_access_of_owners(view, found.id, change)
        return CommandEffect((change,))

    def _change(self, view: CommandContext, found: Resource, place: Resource) -> Change:
        model = view.model_for(found.type, found.id)
        carrying = [name for name in model.lineage if name in found.relations]
        if carrying:
            return RelationsSet(found.id, {**found.relations, carrying[0]: (Edge(place.id),)})
        if view.model_for(found.type, place.id) is not model:
            raise InvalidError(
                "another access model decides at the new parent, and the resource's assignments have no effect under that "
                "model; choose another parent"
            )
        _may_lie(model, found.type, place)
        if place.id != found.parent:
            view.free_name(place.id, found.name)
        return ResourceRenamed(found.id, place.id, found.name)


@dataclass(frozen=True, slots=True)
class SetAttributes:
    """Set these attributes of a resource; the others stay."""

    resource: ResourceId
    attributes: Attributes
    name: str = "resource.set_attributes"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require to edit it before and after the change; the caller gains no privilege on it."""
        found = view.target(self.resource)
        if view.caller is not None:
            require_generic_type(found.type)
        change = AttributesSet(found.id, {**found.attributes, **self.attributes})
        for each in (view, view.with_changes(change)):
            each.require_operation(self.name, {"resource": OperationPlace(found, given=self.attributes)})
        if view.caller is not None and found.id == view.root:
            raise InvalidError(
                "only the operator of this deployment may change the attributes of an organization; ask the operator"
            )
        if view.caller is not None and STATE in self.attributes:
            raise InvalidError(
                "the attribute `state` cannot be set directly; use an action such as `activate`, `deactivate`, `pause` or `resume`"
            )
        if view.caller is not None and found.type == "table" and KIND_ATTRIBUTE in self.attributes:
            raise InvalidError("a table cannot become a view, or a view a table; leave the attribute `kind` out")
        require_no_escalation(view, found.id, change)
        if found.type == PORT:
            require_adding_access(view.with_changes(change), found.id, change.attributes, found.attributes)
        return CommandEffect((change,))


def list_needed_relations(model: Model) -> frozenset[str]:
    """Return the relations that only the model's requirements refer to: the model itself decides what they may name."""
    needed = {role.relation for ways in model.needs.values() for way in ways for role in way.roles if role.relation}
    along = {rule.along for rule in model.spread}
    opening = {each.relation for each in (*model.bridges, *model.named_in)}
    return frozenset(needed - along - opening - set(model.lineage))


def _erase_documents(resource: Resource) -> Iterator[DocumentPut]:
    for kind in document_kinds(resource.type):
        yield DocumentPut(kind, resource.id, None)


def _targets(resource: Resource) -> Mapping[str, tuple[ResourceId, ...]]:
    return {relation: tuple(edge.target for edge in edges) for relation, edges in resource.relations.items()}


def _may_lie(model: Model, type: str, parent: Resource) -> None:
    parents = model.types[type].parents
    if parent.type not in parents:
        words = " or ".join(f"`{model.local_name(each)}`" for each in parents) or "nothing"
        raise InvalidError(
            f"a `{model.local_name(type)}` must be under {words}, not under a `{model.local_name(parent.type)}`"
        )
