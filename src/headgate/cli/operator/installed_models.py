"""`headgate model install`, `list-installed` and `remove`, on the deployment's own machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.local import Data, open_local_deployment, operator_call
from headgate.cli.options import DryRun, OutputMode, Reason
from headgate.cli.output import fail, print_items, say
from headgate.cli.text_files import read_or_exit

if TYPE_CHECKING:
    from headgate.control.kernel.model_source import SourcedModel


def register(models: typer.Typer) -> None:
    """Add the commands to the group of the models."""
    models.command("install", epilog="Example: headgate model install harbour.yaml")(install)
    models.command("list-installed", epilog="Example: headgate model list-installed")(list_installed_models)
    models.command("remove", epilog="Example: headgate model remove harbour")(remove)


def install(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the model file; `headgate model check` checks it")],
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    data: Data = None,
) -> None:
    """Install an access model, or the next version of one, so that organizations can choose it.

    Organizations that use an earlier version keep it until they are upgraded. The operators can do the same over the API.
    """
    from headgate.control.models.commands import InstallModel

    model = _load(file)
    with open_local_deployment(data) as deployment:
        control = deployment.organizations.deployment.control
        command = InstallModel(model)
        changed = control.preview(command, None).changes
        if changed and not dry_run:
            control.execute(command, None, operator_call(reason))
        known = control.snapshot.installed_models.get(model.model.name)
    name, version = model.model.name, model.model.version
    shown = f"version {version} of the access model `{name}`"
    if not changed:
        say(f"{shown} is installed already")
        return
    say(f"{shown} {'would be' if dry_run else 'is'} installed")
    newest = max(known.numbers) if known else version
    if newest > version:
        say(
            f"it {'would be' if dry_run else 'is'} the current version again, although version {newest} is installed, too"
        )
    if not dry_run:
        say(
            f"`headgate organization set-model ORGANIZATION {name}` chooses it, and `headgate model upgrade ORGANIZATION {name}` "
            "upgrades an organization that uses it"
        )


def list_installed_models(*, data: Data = None, output: OutputMode = "table") -> None:
    """Show the access models that organizations can choose, also those in which no organization decides yet."""
    from headgate.control.models.installations import list_installed
    from headgate.control.models.usage import list_users

    with open_local_deployment(data) as deployment:
        organizations = deployment.organizations
        found = list_installed(organizations.deployment.control.snapshot)
        items = [
            {
                "name": name,
                "version": each.numbers[-1],
                "versions": sorted(each.numbers),
                "shipped": each.is_shipped,
                "organizations": list(list_users(organizations, name)),
            }
            for name, each in found.items()
        ]
    columns = {
        "name": "name",
        "version": "version",
        "versions": lambda each: ", ".join(map(str, each["versions"])),
        "shipped": lambda each: "yes" if each["shipped"] else "",
        "used by": lambda each: ", ".join(each["organizations"]),
    }
    print_items(items, columns, output)


def remove(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="the name of the model")],
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    data: Data = None,
) -> None:
    """Remove an access model, so that organizations cannot choose it. A model that an organization uses is not removed."""
    from headgate.control.models.commands import RemoveModel
    from headgate.control.models.usage import list_users, require_unused

    with open_local_deployment(data) as deployment:
        command = RemoveModel(model, list_users(deployment.organizations, model))
        control = deployment.organizations.deployment.control
        control.preview(command, None)
        if not dry_run:
            control.execute(command, None, operator_call(reason))
            require_unused(deployment.organizations, model)
    say(f"the access model `{model}` {'would be' if dry_run else 'is'} removed")


def _load(file: Path) -> "SourcedModel":
    """Return the model of a file; if it has mistakes, print them, and end with exit code 1."""
    from headgate.control.models.library import load_source
    from headgate.model.diagnostics import ModelError

    try:
        return load_source(read_or_exit(file), str(file))
    except ModelError as error:
        fail(str(error))
        sys.exit(1)
