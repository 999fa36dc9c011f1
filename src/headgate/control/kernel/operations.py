"""Requires what an operation needs, by the table `headgate/model/operations.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from headgate.control.kernel.command import CommandContext
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import Resource
from headgate.model.operations import OperationNeed, OperationTable, load_operations


@dataclass(frozen=True, slots=True)
class AssignmentWords:
    """The role and the subject of an assignment that an operation is about."""

    role: str | None = None
    subject: SubjectId | None = None
    new_role: str | None = None


_NO_ASSIGNMENT = AssignmentWords()


@dataclass(frozen=True, slots=True)
class OperationPlace:
    """A resource of an operation, with the parameters of the question about it."""

    resource: Resource
    on: Mapping[str, tuple[ResourceId, ...]] = field(default_factory=dict[str, tuple[ResourceId, ...]])
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    about: AssignmentWords = _NO_ASSIGNMENT


@cache
def load_operation_table() -> OperationTable:
    """Return the table of the package."""
    return load_operations(files("headgate.model").joinpath("operations.yaml").read_text(encoding="utf-8"))


def require_operation(
    view: CommandContext, operation: str, places: Mapping[str, Resource | OperationPlace], /, **words: str
) -> None:
    """Require every action that the operation needs on its places, in the order of the table.

    `words` are the values of the texts in braces.
    """
    for need in load_operation_table()[operation]:
        named = places[need.place]
        place = named if isinstance(named, OperationPlace) else OperationPlace(named)
        action = _resolve_action(view, place.resource, need, words)
        view.require_action(
            action,
            place.resource.id,
            on=place.on,
            given=place.given,
            role=place.about.role,
            subject=place.about.subject,
            new_role=place.about.new_role,
        )


def _resolve_action(view: CommandContext, resource: Resource, need: OperationNeed, words: Mapping[str, str]) -> str:
    if len(need.verbs) > 1:
        return view.action(resource, *(verb.format(**words) for verb in need.verbs))
    verb = next(iter(need.verbs))
    return verb if "." in verb else f"{resource.type}.{verb.format(**words)}"


def list_operation_actions(operation: str, place: str, type: str, /, **words: str) -> tuple[str, ...]:
    """Return the actions that an operation needs on a place of this type, for endpoints that know names and no resources.

    Of several verbs, the first one counts that the vocabulary has for the type.
    """
    known, found = shipped_vocabulary(), list[str]()
    for need in load_operation_table()[operation]:
        if need.place == place:
            actions = [f"{type}.{verb.format(**words)}" for verb in need.verbs]
            found.append(next((each for each in actions if each in known), actions[0]))
    return tuple(found)
