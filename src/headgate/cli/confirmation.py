"""The confirmation of a command that cannot be undone, and the reason of one that is audited."""

import sys

import typer

from headgate.cli.output import fail


def require_reason(reason: str) -> None:
    """End with exit code 2 for a reason without a word."""
    if not reason.strip():
        fail("`--reason` is empty; give the reason, which the audit keeps")
        sys.exit(2)


def confirm(question: str, unchanged: str) -> None:
    """Ask before a command that cannot be undone.

    End with exit code 2 where there is no terminal, and with 1 if the answer is no; `unchanged` says that nothing was done.
    """
    if not sys.stdin.isatty():
        fail(f"{unchanged}: there is no terminal to ask for confirmation; add `--yes` to go on without it")
        sys.exit(2)
    if not typer.confirm(question):
        fail(unchanged)
        sys.exit(1)
