"""The shipped vocabulary of actions and types."""

from functools import cache
from importlib.resources import files

from headgate.model.vocabulary import Vocabulary, load_actions


@cache
def shipped_vocabulary() -> Vocabulary:
    """Return the vocabulary of the package, which is loaded once, because it does not change."""
    return load_actions(files("headgate.model").joinpath("actions.yaml").read_text(encoding="utf-8"))
