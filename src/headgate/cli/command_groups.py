"""The help of a group of commands, which lists local commands (on the data folder) apart from those that call the API."""

from collections.abc import Iterable
from typing import Any

import typer
from typer.core import TyperGroup

FOLDER = "data"
"""The parameter of a local command that names the data folder."""

_API, _LOCAL = "Commands", "On the data folder of this machine (tokens and HEADGATE_URL are ignored)"


class Grouped(TyperGroup):
    """A group whose help lists its commands in two sections."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for the local commands and one for the others, each unless it is empty."""
        known = [(name, self.commands[name]) for name in self.list_commands(ctx) if not self.commands[name].hidden]
        limit = formatter.width - 6 - max((len(name) for name, _ in known), default=0)
        for title, local in ((_API, False), (_LOCAL, True)):
            rows = [(name, each.get_short_help_str(limit)) for name, each in known if _is_local(each) is local]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def add_command_group(app: typer.Typer, noun: str, purpose: str) -> typer.Typer:
    """Return a new group for the commands of a noun."""
    group = typer.Typer(name=noun, help=purpose, no_args_is_help=True, cls=Grouped)
    app.add_typer(group)
    return group


def _is_local(command: Any) -> bool:
    """Whether a command, or every command of a group, works on the data folder."""
    if isinstance(command, TyperGroup):
        return all(map(_is_local, command.commands.values()))
    return FOLDER in _names(command.params)


def _names(parameters: Iterable[Any]) -> set[str]:
    return {each.name for each in parameters}
