"""`headgate model check`: every mistake in model files, with its line and column."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.output import say
from headgate.cli.text_files import read_or_exit

if TYPE_CHECKING:
    from headgate.model.diagnostics import Diagnostic


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check", epilog="Example: headgate model check harbour.yaml")(check_files)


def check_files(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="the model files")],
) -> None:
    """Check model files and print their mistakes.

    The exit code is 1 if a file has an error, 2 if a file cannot be read. Warnings do not change the exit code.
    """
    found = [each for file in files for each in _diagnosed(file)]
    for each in found:
        say(str(each))
    errors = sum(each.severity == "error" for each in found)
    say(f"{len(files)} checked, {errors} errors, {len(found) - errors} warnings")
    sys.exit(1 if errors else 0)


def _diagnosed(file: Path) -> "tuple[Diagnostic, ...]":
    from headgate.control.kernel.vocabulary import shipped_vocabulary
    from headgate.decision.conditions import CONDITIONS
    from headgate.model.load import diagnose

    return diagnose(read_or_exit(file), shipped_vocabulary(), str(file), CONDITIONS)
