"""Reads facts files, and prepares decisions on them: at a revision, under the models that the file names, at a time."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headgate.cli.errors import describe_unreadable
from headgate.cli.facts.names import describe_unknown_word, has_role
from headgate.cli.facts.options import AskError, On
from headgate.cli.output import note
from headgate.cli.scenarios.commands import Answering
from headgate.cli.times import read_time
from headgate.control.models.library import load_source
from headgate.control.models.shipped_models import shipped_model, shipped_names
from headgate.control.text.quoted_text import shorten_quotes
from headgate.control.text.terminal_text import terminal_line
from headgate.decision.as_of import PastError, in_force, state_at
from headgate.decision.context import Models
from headgate.decision.diff.compare import EvaluatedSide
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Answers, Reference
from headgate.facts.changes import Change
from headgate.facts.encoding import FactsError, read_changes, read_history
from headgate.facts.history import State
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model

_UTF_8 = "utf-8-sig"
"""The encoding of facts files; some editors write a byte order mark."""
_MOST_NOTES = 10
"""The most notes about assignments that give nothing."""


def opened(path: Path, on: On) -> EvaluatedSide:
    """Return the evaluator for a facts file, and the time to evaluate at.

    Raises `AskError` for a file that cannot be read, an invalid facts file or an invalid time, `PastError` for a revision or
    model that is not available, and `ModelError` for an invalid model file.
    """
    state, past = state_of(path, on.revision), on.revision is not None
    models = models_of(state, [read_model_file(each) for each in on.model_file], past=past)
    return EvaluatedSide(answering(models, state.facts, on.engine), time_of(on.at, state, past=past))


def state_of(path: Path, revision: int | None) -> State:
    """Return the state at a revision of a facts file, or at its last revision. Raises `AskError` if it cannot be read."""
    with _reading(path, ", or write a facts file with `headgate facts export`"), path.open(encoding=_UTF_8) as lines:
        states = read_history(lines)
        return deque(states, maxlen=1).pop() if revision is None else state_at(states, revision)


def answering(models: Models, facts: Snapshot, engine: Answering) -> Answers:
    """Return the chosen evaluator over facts: the compiled engine or the reference."""
    return Engine(models, facts) if engine is Answering.ENGINE else Reference(models, facts)


def models_of(state: State, given: Sequence[Model], *, past: bool) -> Models:
    """Return the models in force: the given ones, and for each other name the shipped one.

    At a past revision a model must have the source of that time, or `PastError` is raised. At the newest revision a shipped
    model of the same name with another source is accepted, with a note.
    """
    chosen = {model.name: model for model in given}
    for name in set(state.facts.model_hashes) & set(shipped_names()) - chosen.keys():
        shipped, written = shipped_model(name).model, state.facts.model_hashes[name]
        other = written not in (shipped.hash, "")  # facts written by hand have no hash of the source
        if not (other and past):
            chosen[name] = shipped
        if other and not past:
            note(
                f"headgate: the facts file was written under another version of the access model `{name}`; the shipped version decides"
            )
    try:
        models = in_force(
            state, {hash: chosen[name] for name, hash in state.facts.model_hashes.items() if name in chosen}
        )
    except PastError as error:
        raise PastError(
            f"{error}; ask about a newer revision, or pass the file of that version of the model with `--model-file`"
        ) from None
    _note_unknown_roles(state.facts, models)
    _note_unknown_subjects(state.facts)
    return models


def _note_unknown_subjects(facts: Snapshot) -> None:
    """Print a note for each subject of assignments that does not exist (any more)."""
    known = (facts.principals, facts.groups, facts.resources)
    unknown = sorted(subject for subject in facts.assignments if not any(subject in each for each in known))
    lines = [
        f"no principal, group or team has the id `{subject}` at revision {facts.revision}; its assignments give nothing"
        for subject in unknown
    ]
    _note_first(lines, "more subjects")


def _note_unknown_roles(facts: Snapshot, models: Models) -> None:
    """Print a note for each assigned role that gives nothing, because its model does not have it."""
    assigned = {
        (each.model, role) for assignments in facts.assignments.values() for (role, *_), each in assignments.items()
    }
    unknown = [(name, role) for name, role in sorted(assigned) if not has_role(facts, models.get(name), role)]
    lines = [
        f"the access model `{name}` {f'has no role `{role}`' if name in models else 'governs nothing'}; "
        f"assignments of `{role}` at revision {facts.revision} give nothing"
        for name, role in unknown
    ]
    _note_first(lines, "more roles")


def _note_first(lines: Sequence[str], others: str) -> None:
    """Print the first lines as notes; if there are more, also how many assignments of `others` give nothing."""
    for line in lines[:_MOST_NOTES]:
        note(f"headgate: {_quotable(line)}")
    if len(lines) > _MOST_NOTES:
        note(f"headgate: assignments of {len(lines) - _MOST_NOTES} {others} give nothing")


def _quotable(line: str) -> str:
    """Return a line with texts of a facts file, which another person may have written: without line breaks, and shortened."""
    return shorten_quotes(terminal_line(line))


def read_model_file(path: Path) -> Model:
    """Return the model of a file. Raises `AskError` if it cannot be read, `ModelError` for its mistakes."""
    with _reading(path):
        text = path.read_text(encoding="utf-8")
    return load_source(text, str(path)).model


def changes_of(path: Path, answers: Answers) -> tuple[Change, ...]:
    """Return the changes of a file, one on each line, that are to follow the facts.

    Raises `AskError`, with the line, if the file cannot be read, has no change, or has a change that cannot follow the facts
    or has a word that no access model in force knows.
    """
    with _reading(path), path.open(encoding=_UTF_8) as lines:
        read = tuple(read_changes(lines, answers.facts))
    for number, change, facts in read:
        if unknown := describe_unknown_word(answers.models, facts, change):
            raise AskError(f"{path}: line {number}: {_quotable(unknown)}")
    if not read:
        raise AskError(f"`{path}` has no changes; write one change as JSON on each line, as in a facts file")
    return tuple(change for _, change, _ in read)


@contextmanager
def _reading(path: Path, hint: str = "") -> Iterator[None]:
    """Raise `AskError` for a file that cannot be read or is not a valid facts file; `hint` follows for a missing one."""
    try:
        yield
    except FactsError as error:
        raise AskError(f"{path}: {_quotable(str(error))}") from None
    except FileNotFoundError as error:
        raise AskError(f"{describe_unreadable(path, error)}{hint}") from None
    except IsADirectoryError:
        from headgate.store import FILE

        export = f", which `headgate facts export {path}` prints" if (path / FILE).exists() else ""
        raise AskError(f"`{path}` is a folder; name a facts file{export}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise AskError(describe_unreadable(path, error)) from None


def time_of(at: str | None, state: State, *, past: bool) -> float:
    """Return the time to evaluate at (seconds since the epoch): the given one, that of a past state, or now."""
    base = state.at if past else time.time()
    if base is None and (at is None or at.startswith(("+", "-"))):
        raise AskError(
            f"the facts file does not state when revision {state.facts.revision} was written; add `--at TIME` with the time for which to answer"
        )
    try:
        return read_time("+0m" if at is None else at, base or 0.0)
    except ValueError as error:
        raise AskError(str(error)) from None
