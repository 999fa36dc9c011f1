"""Reads passwords: from the standard input, or typed at the terminal without an echo."""

import sys

import typer

from headgate.cli.output import fail


def read_password(*, stdin: bool, prompt: str = "Password", is_new: bool = True) -> str:
    """Return a password: the next line of the standard input, or typed at the terminal, twice for a new one."""
    if stdin:
        return sys.stdin.readline().rstrip("\n")
    require_terminal()
    return str(typer.prompt(prompt, hide_input=True, confirmation_prompt=is_new))


def require_terminal() -> None:
    """End with exit code 2 if there is no terminal."""
    if not has_terminal():
        fail("there is no terminal to ask for the password; use `--password-stdin`")
        sys.exit(2)


def has_terminal() -> bool:
    """Whether the standard input is a terminal."""
    return sys.stdin.isatty()
