"""Decisions as of a past revision: its facts, the models in force then, and the time when it was written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headgate.decision.context import Models
from headgate.facts.history import State
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model


class PastError(Exception):
    """The requested revision cannot be evaluated; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Past:
    """The models, facts and time with which questions about a revision are answered; `now` is None if the time is unknown."""

    models: Models
    facts: Snapshot
    now: float | None


def as_of(states: Iterable[State], revision: int, known: Mapping[str, Model]) -> Past:
    """Return the input of decisions as of a revision; `known` are models by the hash of their source.

    Raises `PastError` for a revision that is not among the states, or whose model is not known.
    """
    state = state_at(states, revision)
    return Past(in_force(state, known), state.facts, state.at)


def state_at(states: Iterable[State], revision: int) -> State:
    """Return the state at a revision. Raises `PastError` if it is not among them."""
    last = 0
    for state in states:
        last = state.facts.revision
        if last == revision:
            return state
        if last > revision:
            raise PastError(f"the facts file has no revision {revision}; use revision {last}, the next one that it has")
    raise PastError(
        f"the facts file ends before revision {revision}; use revision {last}, its newest, or an earlier one"
    )


def in_force(state: State, known: Mapping[str, Model]) -> Models:
    """Return the models in force in this state, by name. Raises `PastError` for a model that is not known."""
    return {name: _require_model(state, name, known) for name in sorted(state.facts.models_in_force)}


def _require_model(state: State, name: str, known: Mapping[str, Model]) -> Model:
    found = known.get(state.facts.model_hashes[name])
    if found is None:
        raise PastError(
            f"the version of the access model `{name}` that was in force at revision {state.facts.revision} is not available"
        )
    return found
