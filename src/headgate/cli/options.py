"""Options that several commands share, so that each has one name, one meaning and one help text."""

from pathlib import Path
from typing import Annotated

import typer

DryRun = Annotated[bool, typer.Option("--dry-run", help="change nothing; show what would be done")]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")]
Reason = Annotated[str, typer.Option("--reason", help="the reason, which the audit keeps")]
OutputFile = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="the file to write; the terminal if left out")
]
Detach = Annotated[bool, typer.Option("--detach", help="return at once; do not wait for the end of the run")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="read the password from stdin; without it the command asks for it")
]
