"""Nobody gains by a rename, a move or another attribute: what is changed about a thing opens it no further to its changer."""

from collections.abc import Iterator

from headgate.control.command import InvalidError, View
from headgate.decision.records import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.ids import ResourceId


def nothing_gained(view: View, resource: ResourceId, *changes: Change) -> None:
    """Raise `InvalidError` if the caller could do or give something on the resource only after these changes."""
    if view.caller is None:
        return
    after = view.after(*changes)
    for question in _questions(view, view.caller, resource):
        now = after.engine.check(question, view.now).allowed
        if now and not view.engine.check(question, view.now).allowed:
            what = question.action if question.role is None else f"giving {question.role}"
            raise InvalidError(
                f"you would gain `{what}` on it by this; ask somebody who may do that to make the change"
            )


def _questions(view: View, caller: Caller, id: ResourceId) -> Iterator[Question]:
    type = view.facts.resources[id].type
    model = view.model_for(type, id)
    yield from (Question(caller, action, id) for action in model.actions_on(type))
    for role in model.roles.values():
        if type in role.on:
            yield Question(caller, "assignment.add", id, role=role.name, subject=caller.principal)
