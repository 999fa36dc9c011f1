"""The vocabulary of actions and types that this version of Headgate has."""

from functools import cache
from importlib.resources import files

from headgate.model.vocabulary import Vocabulary, load_actions


@cache
def shipped_vocabulary() -> Vocabulary:
    """Return the vocabulary of the package. It does not change, so that one is enough."""
    return load_actions(files("headgate.model").joinpath("actions.yaml").read_text(encoding="utf-8"))
