"""Prevents privilege escalation: a change gives the caller nothing, and gives others only access that the caller may grant."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from headgate.control.kernel.command import CommandContext
from headgate.control.kernel.errors import InvalidError
from headgate.decision.context import EvaluationContext
from headgate.decision.diff.reach import find_reachable_resources
from headgate.decision.reference import find_paths
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Attributes, Change
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource
from headgate.model.model import Model, Role

PORT: Final = "output_port"
_AUTO_APPROVE: Final = "auto_approve"


def require_no_escalation(view: CommandContext, resource: ResourceId, *changes: Change) -> None:
    """Raise `InvalidError` if these changes would give the caller an action, or a role to assign, on the resource."""
    if view.caller is None:
        return
    after = view.with_changes(*changes)
    for question in _questions(view, view.caller, resource):
        now = after.engine.check(question, view.now).allowed
        if now and not view.engine.check(question, view.now).allowed:
            if question.role is not None:
                raise InvalidError(
                    f"you would gain the privilege to assign `{question.role}` on the resource by this change; ask a user who "
                    "may assign that role to make the change"
                )
            raise InvalidError(
                f"you would gain `{question.action}` on the resource by this change; ask a user who has it to make the change"
            )


def require_no_escalation_below(view: CommandContext, resource: ResourceId, change: Change) -> None:
    """Raise `InvalidError` if the change gives the caller a role on the resource or on what roles reach from it.

    Roles reach the resources below the resource and those that belong to it by a relation. The check compares roles, because a
    decision can depend on parameters that the caller chooses later.
    """
    if view.caller is None:
        return
    after = view.with_changes(change)
    reached = (find_reachable_resources(each.models, each.facts, (resource,)) for each in (view, after))
    for id in sorted(frozenset[ResourceId]().union(*reached)):
        gained = _held_roles(after, view.caller, id) - _held_roles(view, view.caller, id)
        if gained:
            raise InvalidError(
                f"the change would also give you the role `{min(gained)}`, on the resource or on one that gets its roles from it, and you cannot "
                "give yourself a role in this way; ask a user who holds this role there to make the change"
            )


def _held_roles(view: CommandContext, caller: Caller, resource: ResourceId) -> frozenset[str]:
    found = view.facts.resources.get(resource)  # a relation may name a deleted resource
    asked = EvaluationContext(view.models, view.facts, Question(Caller(caller.principal), "", resource), view.now)
    return frozenset(path.role for path in find_paths(asked, found)) if found else frozenset()


def is_approved_at_once(attributes: Attributes) -> bool:
    """Return whether a port with these attributes approves requests for access when they are made."""
    return attributes.get(_AUTO_APPROVE) == ("true",)


def require_adding_access(view: CommandContext, port: ResourceId, attributes: Attributes, before: Attributes) -> None:
    """Require `output_port.add_access` to switch on automatic approval: it gives access to every requester.

    `view` is the context after the change.
    """
    if is_approved_at_once(attributes) and not is_approved_at_once(before):
        view.require_action("output_port.add_access", port, given={"purpose": (_AUTO_APPROVE,)})


def find_owners(view: CommandContext, port: Resource) -> frozenset[ResourceId]:
    """Return the teams that own the port's data product; their own requests for access are approved when they are made."""
    product, model = view.facts.resources[port.parent], view.model_for(port.type, port.id)
    return frozenset(edge.target for relation in model.lineage for edge in product.edges(relation))


def require_adding_access_of_owners(view: CommandContext, resource: ResourceId, change: Change) -> None:
    """Require `output_port.add_access` on each port that a move gives to other teams: they get access without an approver."""
    after = view.with_changes(change)
    for id in (resource, *view.facts.list_below(resource)):
        port = view.facts.resources[id]
        if port.type == PORT and (new := find_owners(after, after.facts.resources[id]) - find_owners(view, port)):
            on = {"consumer": tuple(sorted(new))}
            view.require_action("output_port.add_access", id, on=on, given={"purpose": ("move",)})


def _questions(view: CommandContext, caller: Caller, id: ResourceId) -> Iterator[Question]:
    type = view.facts.resources[id].type
    model = view.model_for(type, id)
    yield from (Question(caller, action, id) for action in model.actions_on(type))
    for role in model.roles.values():
        if type in role.on:
            yield Question(caller, "assignment.add", id, role=role.name, subject=caller.principal)


def require_may_grant_bridge(view: CommandContext, model: Model, named: Mapping[str, tuple[ResourceId, ...]]) -> None:
    """Require the privilege to grant the access that a bridge of the model would open: for each action, to assign some role.

    Otherwise a user who creates an output port could give consumers read access to everything that the user may discover.
    """
    for bridge in model.bridges:
        for place in (view.resource(target) for target in named.get(bridge.relation, ())):
            there = view.model_for(place.type, place.id)
            for action in sorted(each for each in bridge.actions if each.partition(".")[0] == place.type):
                _may_assign_one_of(
                    view, place, bridge.relation, action, [there.roles[role] for role in there.roles_granting(action)]
                )


def _may_assign_one_of(
    view: CommandContext, place: Resource, relation: str, action: str, roles: Sequence[Role]
) -> None:
    if view.caller is None:
        return
    here = [role.name for role in roles if place.type in role.on]
    asked = [Question(view.caller, "assignment.add", place.id, role=role, subject=view.actor) for role in here]
    if not asked:
        raise InvalidError(
            f"with `{place.id}` in `{relation}`, other users could do `{action}` on it, which no user may allow: no role "
            f"on `{place.id}` includes the action; remove `{place.id}` from `{relation}`"
        )
    view.require(next((each for each in asked if view.engine.check(each, view.now).allowed), asked[0]))
