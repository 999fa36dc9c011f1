"""Options that the questions about facts share, and the records that they become."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.cli.output import OutputFormat, fail
from headgate.cli.scenarios.commands import Answering

NO_ANSWER = 2
"""The exit code if no decision was made; 1 is for a deny."""


class AskError(Exception):
    """A question is invalid; the message says what to write in its place."""


At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME|+30d",
        help="the time for which to decide, for example 2026-11-21T09:00 (UTC), or an offset such as +30d, -2h or +15m: from now, or with `--revision` from the time when that revision was written",
    ),
]
AtRevision = Annotated[
    int | None,
    typer.Option(
        "--revision",
        metavar="N",
        help="the revision to use, with its facts, models and time; the last one if left out",
    ),
]
ModelFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--model-file",
        metavar="FILE",
        help="a model file, used in place of the shipped model of that name; can be repeated",
    ),
]
EngineName = Annotated[Answering, typer.Option("--engine", help="the implementation that decides")]
Related = Annotated[
    list[str] | None,
    typer.Option(
        "--related", metavar="WHAT=NAME,NAME", help="other resources of the question, for example inputs=lake.raw.a"
    ),
]
ContextWords = Annotated[
    list[str] | None,
    typer.Option(
        "--context", metavar="WHAT=WORD", help="another parameter of the question, for example kind=compaction"
    ),
]
OfRole = Annotated[
    str | None, typer.Option("--role", metavar="ROLE", help="the role of the assignment that the question is about")
]
OfSubject = Annotated[str | None, typer.Option("--subject", metavar="SUBJECT", help="the subject of the assignment")]
NewRole = Annotated[
    str | None, typer.Option("--new-role", metavar="ROLE", help="the role that replaces the one of `--role`")
]


@dataclass(frozen=True, slots=True)
class On:
    """The revision, models, time and implementation of a decision, and the format of the output."""

    at: str | None
    revision: int | None
    model_file: Sequence[Path]
    engine: Answering
    output: OutputFormat

    @property
    def json(self) -> bool:
        """Whether the output is JSON."""
        return self.output == "json"


@dataclass(frozen=True, slots=True)
class With:
    """The parameters of a question besides principal, action and resource."""

    related: Sequence[str]
    context: Sequence[str]
    role: str | None
    subject: str | None
    new_role: str | None


def exits_with_answer(asking: Callable[..., int]) -> Callable[..., None]:
    """Return a command that ends with the exit code of a function.

    An invalid question prints one sentence and ends with exit code 2.
    """

    @wraps(asking)
    def run(*args: Any, **given: Any) -> None:
        sys.exit(_answered(partial(asking, *args, **given)))

    return run


def _answered(asking: Callable[[], int]) -> int:
    from headgate.decision.as_of import PastError
    from headgate.model.diagnostics import ModelError

    try:
        return asking()
    except (AskError, PastError, ModelError) as error:
        fail(str(error))
    except (OSError, UnicodeDecodeError) as error:
        fail(
            f"a file that the options name cannot be read ({error.strerror if isinstance(error, OSError) else error}); "
            "check its path and permissions"
        )
    return NO_ANSWER
