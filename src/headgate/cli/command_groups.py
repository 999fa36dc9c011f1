"""The help of the command line: its commands under headings, and local commands (on the data folder) apart from the others."""

from collections.abc import Iterable, Mapping
from typing import Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

FOLDER = "data"
"""The parameter of a local command that names the data folder."""

_COMMANDS = "Commands"
_LOCAL = "On the data folder of this machine (tokens and HEADGATE_URL are ignored)"

HEADINGS: Mapping[str, tuple[str, ...]] = {
    "Start here": ("setup", "status", "auth", "session", "sql"),
    "Access": (
        *("access", "request", "notification", "assignment", "role", "setting"),
        *("agreement", "change-request", "audit", "log"),
    ),
    "Data and pipelines": ("resource", "database", "connection", "pipeline", "run", "lineage"),
    "People and programs": ("user", "group", "team", "service-principal", "token", "invitation", "project"),
    "Models and facts": ("model", "facts"),
    "Other": ("api",),
}
"""The headings of `headgate --help`, each with its commands in their order; local commands have a heading of their own."""


_UNLIMITED = 1000
"""Characters of a description, which is wrapped and not cut."""


class Grouped(TyperGroup):
    """A group whose help lists its local commands apart from the others."""

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings; no heading is empty."""
        known = {name: self.commands[name] for name in self.list_commands(ctx) if not self.commands[name].hidden}
        for title, names in self.headings(known).items():
            if names:
                with formatter.section(title):
                    formatter.write_dl([(name, known[name].get_short_help_str(_UNLIMITED)) for name in names])

    def headings(self, known: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return the headings of the help with the names of their commands."""
        local = [name for name, each in known.items() if _is_local(each)]
        return {_COMMANDS: [name for name in known if name not in local], _LOCAL: local}


class GroupedByTopic(Grouped):
    """The command line itself, whose help has a heading for each topic."""

    @override
    def headings(self, known: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return a heading for each topic, and one for the local commands."""
        found = super().headings(known)
        return {**{title: list(names) for title, names in HEADINGS.items()}, _LOCAL: found[_LOCAL]}


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
