"""Options that several commands share: fields of records, each of which a command takes as one argument."""

import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from headgate.cli.options import OutputMode
from headgate.cli.output import fail
from headgate.cli.scenarios.commands import Answering

NO_ANSWER = 2
"""The exit code if no decision was made; 1 is for a deny."""


class AskError(Exception):
    """A question is invalid; the message says what to write in its place."""


@dataclass(frozen=True, slots=True)
class On:
    """The revision, models, time and implementation of a decision, and the format of the output."""

    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|+30d",
            help="the time of the decision (ISO 8601, UTC), or an offset to it in days, hours or minutes (d, h, m)",
        ),
    ] = None
    revision: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="the revision to use, with its facts, models and time; the last one if left out"
        ),
    ] = None
    model_file: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE", help="a model file, used in place of the shipped model of that name; can be repeated"
        ),
    ] = field(default_factory=list[Path])
    engine: Annotated[Answering, typer.Option(help="the implementation that decides")] = Answering.ENGINE
    output: OutputMode = "table"

    @property
    def json(self) -> bool:
        """Whether the output is JSON."""
        return self.output == "json"


@dataclass(frozen=True, slots=True)
class With:
    """The parameters of a question besides principal, action and resource."""

    related: Annotated[
        list[str],
        typer.Option(metavar="WHAT=NAME,NAME", help="other resources of the question, for example inputs=lake.raw.a"),
    ] = field(default_factory=list[str])
    context: Annotated[
        list[str],
        typer.Option(metavar="WHAT=WORD", help="another parameter of the question, for example kind=compaction"),
    ] = field(default_factory=list[str])
    role: Annotated[
        str | None, typer.Option(metavar="ROLE", help="the role of the assignment that the question is about")
    ] = None
    subject: Annotated[str | None, typer.Option(metavar="SUBJECT", help="the subject of the assignment")] = None
    new_role: Annotated[str | None, typer.Option(metavar="ROLE", help="the role that replaces the one of `--role`")] = (
        None
    )


def with_options(asking: Callable[..., int]) -> Callable[..., None]:
    """Return a command for a function that returns an exit code.

    Each field of a record that the function takes becomes an option. An invalid question prints one sentence and ends with
    exit code 2.
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

    # typer reads these two; `wraps` copied those of the inner function.
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
        fail(f"a file cannot be read: {error.strerror if isinstance(error, OSError) else error}")
    return NO_ANSWER


def _options(record: Any) -> list[Parameter]:
    hints = get_type_hints(record, include_extras=True)
    return [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=_default(each), annotation=hints[each.name])
        for each in fields(record)
    ]


def _default(option: Field[Any]) -> Any:
    return option.default if option.default_factory is MISSING else option.default_factory()
