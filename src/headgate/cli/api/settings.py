"""`headgate setting`: the switches of the access models."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import DryRun, OutputMode, Reason
from headgate.cli.output import print_items
from headgate.cli.writes import WriteOptions, write

OnResource = Annotated[
    str, typer.Option("--resource", metavar="RESOURCE", help="the resource that has the setting, by name or id")
]
SettingName = Annotated[
    str, typer.Argument(metavar="SETTING", help="the name of the setting; `headgate setting list` shows it")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    settings = add_command_group(app, "setting", "Settings of resources: the switches of the access models.")
    settings.command("list", epilog="Example: headgate setting list --resource organization")(list_settings)
    settings.command("set", epilog="Example: headgate setting set change_process true")(set_setting)


def list_settings(resource: OnResource = "organization", *, output: OutputMode = "table") -> None:
    """Show the settings of a resource, and the values that each can have."""
    print_items(
        every("/settings", resource=resource),
        {"setting": "name", "value": "value", "possible values": lambda each: ", ".join(each["values"])},
        output,
    )


def set_setting(
    setting: SettingName,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="the new value")],
    resource: OnResource = "organization",
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Change a setting of a resource."""
    path = api_path("settings", setting)
    write(
        WriteOptions(dry_run, reason, output),
        "PUT",
        path,
        f"{setting} is {value}",
        body={"value": value, "resource": resource},
    )
