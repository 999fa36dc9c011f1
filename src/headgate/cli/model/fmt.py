"""`headgate model fmt`: the formatter of model files."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.model.model_files import read_or_exit, write_or_exit
from headgate.cli.output import fail, say


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fmt", epilog="Example: headgate model fmt harbour.yaml --check")(format_files)


def format_files(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="the model files")],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="change nothing; the exit code is 1 if a file would change")
    ] = False,
) -> None:
    """Format model files; content, order and comments are unchanged.

    The exit code is 2 if a file cannot be read or is not plain YAML; no file is changed then.
    """
    from headgate.model.diagnostics import ModelError

    try:
        texts = {file: read_or_exit(file) for file in files}
        changed = {file: after for file, text in texts.items() if (after := _laid_out(text, str(file))) != text}
    except ModelError as error:
        fail(str(error))
        sys.exit(2)
    for file, text in changed.items():
        if not check:
            write_or_exit(file, text)
        say(f"{file} {'is not formatted' if check else 'was formatted'}")
    sys.exit(1 if check and changed else 0)


def _laid_out(text: str, file: str) -> str:
    from headgate.model.diagnostics import DiagnosticReport, ModelError
    from headgate.model.formatter import format_model
    from headgate.model.yaml_parser import parse_yaml

    report = DiagnosticReport(file)
    parse_yaml(text, report)
    if report.has_errors:
        raise ModelError(report.diagnostics())
    return format_model(text)
