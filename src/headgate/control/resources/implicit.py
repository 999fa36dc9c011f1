"""Implicit children of a new resource, and the roles that its creator is assigned."""

from collections.abc import Iterator

from headgate.control.kernel.command import CommandContext
from headgate.facts.changes import ResourceCreated, RoleAssigned
from headgate.facts.ids import ResourceId
from headgate.model.model import Model


def implicit_children(model: Model, parent: ResourceId, type: str) -> Iterator[ResourceCreated]:
    """Yield the implicit children of a resource of a type: one of each implicit type, with a derived id."""
    for each in model.types.values():
        if each.implicit and type in each.parents:
            id = ResourceId(f"{parent}/{each.name}")
            yield ResourceCreated(id, each.name, parent, each.name)
            yield from implicit_children(model, id, each.name)


def creator_assignments(view: CommandContext, resource: ResourceId, type: str, model: Model) -> Iterator[RoleAssigned]:
    """Yield the roles that the creator of a resource is assigned on it; none for the deployment itself."""
    for creator in model.creators:
        if view.actor is not None and type in creator.types:
            yield RoleAssigned(view.actor, creator.role, resource, model.name, view.actor)
