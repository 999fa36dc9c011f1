"""Operations on full names: the actions that an operation needs, for endpoints that know names and not ids."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headgate.control.kernel.names import find_by_name
from headgate.control.kernel.operations import choose_action, list_operation_needs, list_places
from headgate.decision.context import model_for
from headgate.decision.evaluator import Answers
from headgate.model.model import Model


@dataclass(frozen=True, slots=True)
class OperationName:
    """A lake, database, table or view of an operation: its full name (lake first), and its type."""

    names: tuple[str, ...]
    type: str


@dataclass(frozen=True, slots=True)
class NeededAction:
    """One action that an operation needs: the operation's word for the resource, the action, and the full name."""

    place: str
    action: str
    names: tuple[str, ...]


def list_needed_actions(
    answers: Answers, operation: str, places: Mapping[str, OperationName], /, **words: str
) -> Iterator[NeededAction]:
    """Yield the actions that an operation needs, in their order; `words` are the values of the texts in braces.

    A name that is missing is treated like a hidden one: the model that decides is that of the nearest resource above it.
    """
    first = _find_model(answers, places[list_places(operation)[0]])
    for need in list_operation_needs(operation, first):
        place = places[need.place]
        action = choose_action(need, place.type, _find_model(answers, place), words)
        yield NeededAction(need.place, action, place.names)


def _find_model(answers: Answers, place: OperationName) -> Model | None:
    names: Sequence[str] = place.names
    above = (find_by_name(answers.facts, names[:depth]) for depth in range(len(names), 0, -1))
    found = next((each for each in above if each is not None), None)
    return model_for(answers.models, answers.facts, place.type, found.id) if found is not None else None
