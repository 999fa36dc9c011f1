"""What comes with a new resource: its implicit children, and what its creator is assigned."""

from collections.abc import Iterator

from headgate.control.kernel.command import CommandContext
from headgate.facts.changes import ResourceCreated, RoleAssigned
from headgate.facts.ids import ResourceId
from headgate.model.model import Model


def implicit_children(model: Model, parent: ResourceId, type: str) -> Iterator[ResourceCreated]:
    """Yield what a model puts implicitly below a resource of a type: one of each implicit type, under a derived id."""
    for each in model.types.values():
        if each.implicit and type in each.parents:
            id = ResourceId(f"{parent}/{each.name}")
            yield ResourceCreated(id, each.name, parent, each.name)
            yield from implicit_children(model, id, each.name)


def creator_assignments(view: CommandContext, resource: ResourceId, type: str, model: Model) -> Iterator[RoleAssigned]:
    """Yield what who makes a resource of a type is assigned on it; nothing for the deployment itself."""
    for creator in model.creators:
        if view.actor is not None and type in creator.types:
            yield RoleAssigned(view.actor, creator.role, resource, model.name, view.actor)
