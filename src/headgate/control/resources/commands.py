"""Making, moving, changing and deleting resources of any type that the model knows."""

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
    """A new resource under its parent, with what its model puts implicitly below it.

    `author` is who made it, where it is not the caller but the deployment that says so. `made_as` is the word of the
    action that is needed, where it is another than the type.
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
        """Need the parent's action for it, or, where a relation of it carries roles down, that of what this names.

        Who makes it is assigned what the model gives to makers.
        """
        parent = view.target(self.parent)
        require_generic_type(self.type)
        on = {relation: tuple(edge.target for edge in edges) for relation, edges in self.relations.items()}
        for place in self._list_owners(view, parent):
            view.require_action(
                f"{place.type}.create_{self.made_as or self.type}", place.id, on=on, given=self.attributes
            )
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
        if self.type == "organization":  # what is below it, and who holds what there, its own log says
            return CommandEffect((created,))
        if self.type == PORT:
            require_adding_access(view.with_changes(created), self.resource, self.attributes, {})
        below = implicit_children(model, self.resource, self.type)
        return CommandEffect((created, *below, *creator_assignments(view, self.resource, self.type, model)))

    def _list_owners(self, view: CommandContext, parent: Resource) -> tuple[Resource, ...]:
        lineage = view.model_for(self.type, parent.id).lineage
        owners = tuple(view.target(edge.target) for name in lineage for edge in self.relations.get(name, ()))
        return owners or (parent,)


@dataclass(frozen=True, slots=True)
class DeleteResource:
    """The resource goes, with everything below it and every assignment and document of them."""

    resource: ResourceId
    name: str = "resource.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need to delete or drop it."""
        found = view.target(self.resource)
        require_generic_type(found.type)
        view.require_action(view.action(found, "delete", "drop"), found.id)
        if found.id == view.root:
            raise InvalidError("the organization itself does not go by a command of its own")
        # Each by itself, so that whatever else is kept for it goes too.
        gone = [view.facts.resources[id] for id in (*view.facts.list_below(found.id), found.id)]
        erased = tuple(put for each in gone for put in _erase_documents(each))
        return CommandEffect(tuple(ResourceDeleted(each.id) for each in gone), erased)


@dataclass(frozen=True, slots=True)
class MoveResource:
    """The resource gets another parent; where a relation of it carries roles down, that names the new one instead."""

    resource: ResourceId
    parent: ResourceId
    name: str = "resource.move"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need to edit and to delete it where it is, and to create it there. The caller and the teams there gain nothing by it."""
        found, place = view.target(self.resource), view.target(self.parent)
        require_generic_type(found.type)
        view.require_action(view.action(found, "edit", "alter"), found.id)
        view.require_action(view.action(found, "delete", "drop"), found.id)
        view.require_action(f"{place.type}.create_{found.type}", place.id, on=_targets(found), given=found.attributes)
        if place.id == found.id or any(each.id == found.id for each in view.facts.ancestors(place.id)):
            raise InvalidError("nothing can be moved below itself")
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
            raise InvalidError("another access model is in force there, under which its assignments mean nothing")
        _may_lie(model, found.type, place)
        if place.id != found.parent:
            view.free_name(place.id, found.name)
        return ResourceRenamed(found.id, place.id, found.name)


@dataclass(frozen=True, slots=True)
class SetAttributes:
    """These attributes of the resource have these words from now on; the others stay."""

    resource: ResourceId
    attributes: Attributes
    name: str = "resource.set_attributes"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need to edit it as it is and as it would be; who changes it gains nothing on it."""
        found = view.target(self.resource)
        if view.caller is not None:
            require_generic_type(found.type)
        action = view.action(found, "edit", "alter")
        change = AttributesSet(found.id, {**found.attributes, **self.attributes})
        for each in (view, view.with_changes(change)):
            each.require_action(action, found.id, given=self.attributes)
        if view.caller is not None and found.id == view.root:
            raise InvalidError("what the organization is, the deployment says; its settings are what can be changed")
        if view.caller is not None and STATE in self.attributes:
            raise InvalidError("the state is changed by activating, pausing and the like")
        if view.caller is not None and found.type == "table" and KIND_ATTRIBUTE in self.attributes:
            raise InvalidError("whether it is a table or a view does not change")
        require_no_escalation(view, found.id, change)
        if found.type == PORT:
            require_adding_access(view.with_changes(change), found.id, change.attributes, found.attributes)
        return CommandEffect((change,))


def list_needed_relations(model: Model) -> frozenset[str]:
    """Return the relations that the model's needs are about, and only they: what they may name, the model has said."""
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
            f"a `{model.local_name(type)}` lies under {words}, not under a `{model.local_name(parent.type)}`"
        )
