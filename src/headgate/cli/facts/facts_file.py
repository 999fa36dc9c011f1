"""A facts file, opened to be asked: at a revision, under the models that it names, at a time."""

import re
import time
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from headgate.cli.facts.options import AskError, On
from headgate.cli.output import note
from headgate.cli.scenarios.commands import Answering
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.decision.as_of import PastError, in_force, state_at
from headgate.decision.conditions import CONDITIONS
from headgate.decision.context import Models
from headgate.decision.diff.compare import EvaluatedSide
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Answers, Reference
from headgate.facts.changes import Change
from headgate.facts.encoding import read_changes, read_history
from headgate.facts.history import State
from headgate.facts.snapshot import Snapshot
from headgate.model.load import load_model
from headgate.model.model import Model
from headgate.model.vocabulary import MODELS

_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0}
_LATER = re.compile(r"([+-]\d+)([dhm])")
_PACKAGE = files("headgate.model")


def opened(path: Path, on: On) -> EvaluatedSide:
    """Return what answers on a facts file.

    Raises `AskError`, `FactsError`, `PastError`, `ModelError` or `OSError` for what cannot be had.
    """
    state, past = state_of(path, on.revision), on.revision is not None
    models = models_of(state, [read_model_file(each) for each in on.model_file], past=past)
    return EvaluatedSide(answering(models, state.facts, on.engine), time_of(on.at, state, past=past))


def state_of(path: Path, revision: int | None) -> State:
    """Return the state at a revision of a facts file, or at its end."""
    with path.open(encoding="utf-8") as lines:
        states = read_history(lines)
        return deque(states, maxlen=1).pop() if revision is None else state_at(states, revision)


def answering(models: Models, facts: Snapshot, engine: Answering) -> Answers:
    """Return what answers on facts."""
    return Engine(models, facts) if engine is Answering.ENGINE else Reference(models, facts)


def models_of(state: State, given: Sequence[Model], *, past: bool) -> Models:
    """Return the models in force: those that are given, else the shipped ones.

    In the past the source has to be that of then. Now another one of that name will do, and is said to be another.
    """
    chosen = {model.name: model for model in given}
    for name in state.sources.keys() & set(MODELS) - chosen.keys():
        shipped, written = read_shipped_model(name), state.sources[name]
        other = written not in (shipped.hash, "")  # facts that are written by hand do not say which source it was
        if not (other and past):
            chosen[name] = shipped
        if other and not past:
            said = (
                f"headgate: the facts were written under another source of the model `{name}` than the one that is here"
            )
            note(said)
    try:
        return in_force(state, {hash: chosen[name] for name, hash in state.sources.items() if name in chosen})
    except PastError as error:
        raise PastError(f"{error}; name its file with `--model-file`") from None


@cache
def read_shipped_model(name: str) -> Model:
    """Return a model of the package."""
    text = (_PACKAGE / "models" / f"{name}.yaml").read_text(encoding="utf-8")
    return load_model(text, shipped_vocabulary(), f"{name}.yaml", CONDITIONS)


def read_model_file(path: Path) -> Model:
    """Return the model of a file. Raises `ModelError` for its mistakes."""
    return load_model(path.read_text(encoding="utf-8"), shipped_vocabulary(), str(path), CONDITIONS)


def changes_of(path: Path) -> tuple[Change, ...]:
    """Return the changes of a file, one on each line."""
    with path.open(encoding="utf-8") as lines:
        return tuple(read_changes(lines))


def time_of(at: str | None, state: State, *, past: bool) -> float:
    """Return the time to ask at (seconds since the epoch): a given one, that of the past state, or now."""
    base = state.at if past else time.time()
    later = _LATER.fullmatch(at or "+0m")
    if at is None or later:
        if base is None:
            raise AskError(f"nobody says when revision {state.facts.revision} was written; add `--at TIME`")
        return base + (float(later[1]) * _SECONDS[later[2]] if later else 0.0)
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        raise AskError(f"`{at}` is no time; write one like `2026-11-21T09:00`, or a shift like `+30d`") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
