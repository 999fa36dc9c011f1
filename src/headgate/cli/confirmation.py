"""The confirmation of a command that cannot be undone, and the reason of one that is audited."""

import sys

import typer

from headgate.cli.output import fail


def require_reason(reason: str) -> None:
    """End with exit code 2 if the reason is empty."""
    if not reason.strip():
        fail("`--reason` is empty; pass a reason, which the audit keeps")
        sys.exit(2)


def confirm(question: str, unchanged: str) -> None:
    """Ask before a command that cannot be undone.

    End with exit code 2 if there is no terminal, and with 1 if the user declines; `unchanged` is the message that nothing was
    done.
    """
    if not sys.stdin.isatty():
        fail(
            f"{unchanged}: there is no terminal to ask for confirmation; add `--yes` to run the command without confirmation"
        )
        sys.exit(2)
    if not typer.confirm(question):
        fail(unchanged)
        sys.exit(1)
