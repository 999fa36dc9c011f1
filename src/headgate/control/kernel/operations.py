"""The table of what operations need, `headgate/model/operations.yaml`, and the parameters of its questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import Resource
from headgate.model.operations import OperationTable, load_operations


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
