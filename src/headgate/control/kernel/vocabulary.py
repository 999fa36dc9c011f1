"""The shipped vocabulary of actions and types."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from headgate.model.model import Model
from headgate.model.operations import load_operations
from headgate.model.vocabulary import Vocabulary, load_actions


@cache
def shipped_vocabulary() -> Vocabulary:
    """Return the vocabulary of the package, which is loaded once, because it does not change."""
    actions, operations = (
        files("headgate.model").joinpath(name).read_text(encoding="utf-8")
        for name in ("actions.yaml", "operations.yaml")
    )
    return load_actions(actions, operations=load_operations(operations))


def is_known_action(action: str, models: Iterable[Model]) -> bool:
    """Whether the vocabulary or one of the models has the action."""
    known = shipped_vocabulary()
    return action in known or any(action in known.of_model(model) for model in models)


def describe_unknown_action(action: str, models: Iterable[Model] = ()) -> str | None:
    """Return the error text for a name that is no action, with the most similar one of the vocabulary.

    None for an action of the vocabulary or of one of the models.
    """
    if is_known_action(action, models):
        return None
    near = get_close_matches(action, shipped_vocabulary(), 1)
    hint = f"did you mean `{near[0]}`?" if near else "`headgate model document actions` lists the actions"
    return f"there is no action `{action}`; {hint}"
