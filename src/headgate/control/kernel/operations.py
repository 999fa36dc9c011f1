"""Needs of operations, from `headgate/model/operations.yaml` and the access model, and the parameters of their questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import Resource
from headgate.model.model import Model, OperationNeed


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


def list_operation_needs(operation: str, model: Model | None) -> tuple[OperationNeed, ...]:
    """Return the needs of an operation: those that the model restates, else those of `operations.yaml`.

    `model` is the one that decides on the first resource of the operation.
    """
    restated = model.operations.get(operation) if model else None
    return restated or shipped_vocabulary().operations[operation]


def list_places(operation: str) -> tuple[str, ...]:
    """Return the words of an operation for its resources; the model of the first decides what the operation needs."""
    return tuple(dict.fromkeys(need.place for need in shipped_vocabulary().operations[operation]))


def choose_action(need: OperationNeed, type: str, model: Model | None, words: Mapping[str, str]) -> str:
    """Return the action of a need on a resource of a type: the first that the model has, or else the vocabulary.

    `words` are the values of the texts in braces.
    """
    actions = [verb if "." in verb else f"{type}.{verb.format(**words)}" for verb in need.verbs]
    known = next((each for each in actions if each in shipped_vocabulary()), actions[0])
    return next((each for each in actions if model and model.has_action(each)), known)
