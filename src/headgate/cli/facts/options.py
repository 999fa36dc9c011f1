"""Options that several commands have: each is written once, in a record that a command takes as one argument."""

import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from headgate.cli.output import fail
from headgate.cli.scenarios.commands import Answering

NO_ANSWER = 2
"""The exit code where a question could not be asked; 1 is for a deny."""


class AskError(Exception):
    """What was asked cannot be: the message says what would be."""


@dataclass(frozen=True, slots=True)
class On:
    """On which facts, under which models, and when, a question is asked."""

    at: Annotated[
        str | None,
        typer.Option(metavar="TIME|+30d", help="the time to ask at (ISO 8601, UTC), or a shift of it (d, h, m)"),
    ] = None
    revision: Annotated[
        int | None, typer.Option(metavar="N", help="the revision to ask at, with its facts, models and time")
    ] = None
    model_file: Annotated[
        list[Path], typer.Option(metavar="FILE", help="a model file, for the model of its name; can be repeated")
    ] = field(default_factory=list[Path])
    engine: Annotated[Answering, typer.Option(help="the implementation that answers")] = Answering.ENGINE
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False


@dataclass(frozen=True, slots=True)
class With:
    """What a question is asked with."""

    related: Annotated[
        list[str],
        typer.Option(metavar="WHAT=NAME,NAME", help="other resources of the question, for example inputs=lake.raw.a"),
    ] = field(default_factory=list[str])
    context: Annotated[
        list[str],
        typer.Option(metavar="WHAT=WORD", help="another parameter of the question, for example kind=compaction"),
    ] = field(default_factory=list[str])
    role: Annotated[str | None, typer.Option(help="the role of the assignment that the question is about")] = None
    subject: Annotated[str | None, typer.Option(metavar="SUBJECT", help="the subject of the assignment")] = None
    new_role: Annotated[str | None, typer.Option(help="the role that replaces it")] = None


def with_options(asking: Callable[..., int]) -> Callable[..., None]:
    """Make a command of a function that returns its exit code.

    Each field of a record that it takes becomes an option. What cannot be asked is one sentence and exit code 2.
    """
    hints = get_type_hints(asking, include_extras=True)
    records: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    own = [each for name, each in signature(asking).parameters.items() if name not in records]
    taken = [each.replace(annotation=hints[each.name], kind=Parameter.KEYWORD_ONLY) for each in own]
    taken += [option for record in records.values() for option in _options(record)]

    @wraps(asking)
    def run(**given: Any) -> None:
        for name, record in records.items():
            given[name] = record(**{each.name: given.pop(each.name) for each in fields(record)})
        sys.exit(_answered(asking, given))

    # What typer reads. A wrapped function would show that of the one inside.
    run.__signature__ = Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in taken}
    return run


def _answered(asking: Callable[..., int], given: dict[str, Any]) -> int:
    from headgate.decision.as_of import PastError
    from headgate.facts.encoding import FactsError
    from headgate.model.diagnostics import ModelError

    try:
        return asking(**given)
    except (AskError, FactsError, PastError, ModelError) as error:
        fail(str(error))
    except (OSError, UnicodeDecodeError) as error:
        fail(f"a file cannot be read: {error}")
    return NO_ANSWER


def _options(record: Any) -> list[Parameter]:
    hints = get_type_hints(record, include_extras=True)
    return [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=_default(each), annotation=hints[each.name])
        for each in fields(record)
    ]


def _default(option: Field[Any]) -> Any:
    return option.default if option.default_factory is MISSING else option.default_factory()
