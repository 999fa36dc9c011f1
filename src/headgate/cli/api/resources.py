"""`headgate resource`: the resources of the organization, from the lake to a column."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.cli.client import ApiError, api_path, every, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.completion import complete_resource
from headgate.cli.options import DryRun, NewName, OutputMode, Reason, ResourceName
from headgate.cli.output import print_item, print_items, say, write_json
from headgate.cli.writes import WriteOptions, write
from headgate.cli.yaml_files import read_yaml

ParentName = Annotated[
    str,
    typer.Argument(
        metavar="PARENT",
        autocompletion=complete_resource,
        help="the resource above, by name or id, for example lake.raw or organization",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    resources = add_command_group(app, "resource", "Resources: everything that access is decided on.")
    resources.command("list", epilog="Example: headgate resource list --type table --parent lake.raw")(list_resources)
    resources.command("show", epilog="Example: headgate resource show lake.raw.flights")(show_resource)
    resources.command("create", epilog="Example: headgate resource create table lake.raw flights")(create_resource)
    resources.command("rename", epilog="Example: headgate resource rename lake.raw.flights journeys")(rename_resource)
    resources.command("move", epilog="Example: headgate resource move lake.raw.flights lake.shop --dry-run")(
        move_resource
    )
    resources.command(
        "describe", epilog='Example: headgate resource describe lake.raw.flights "every flight since 2013"'
    )(describe_resource)
    resources.command("change", epilog="Example: headgate resource change lake.raw.flights details.yaml")(
        change_resource
    )
    resources.command("document", epilog="Example: headgate resource document orders contract.yaml")(document_resource)
    resources.command("delete", epilog="Example: headgate resource delete lake.raw.flights")(delete_resource)


def list_resources(
    parent: Annotated[
        str | None, typer.Option("--parent", metavar="RESOURCE", help="show only the resources directly below this one")
    ] = None,
    type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="show only resources of this type, for example table")
    ] = None,
    *,
    output: OutputMode = "table",
) -> None:
    """Show the resources that you may see."""
    print_items(every("/resources", parent=parent, type=type), {"name": "name", "type": "type"}, output)


def show_resource(resource: ResourceName, *, output: OutputMode = "table") -> None:
    """Show a resource with its relations, settings and description, and the actions that you may do on it."""
    found = send_request("GET", api_path("resources", resource))
    lines = {
        **{key: found[key] for key in ("id", "name", "type", "parent")},
        **{name: _targets(targets) for name, targets in found["relations"].items()},
        **{name: ", ".join(values) for name, values in found["attributes"].items()},
        **found["settings"],
        "actions": ", ".join(found["actions"]),
    }
    print_item(found, lines, output)


def create_resource(
    type: Annotated[str, typer.Argument(metavar="TYPE", help="the type of the resource, for example database or team")],
    parent: ParentName,
    name: NewName,
    details_file: Annotated[
        Path | None,
        typer.Option(
            "--details-file",
            metavar="FILE",
            help="a YAML or JSON file with `relations` and `attributes`, as the body of `POST /api/v1/resources` has them",
        ),
    ] = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Create a resource below another one. A pipeline is created by `headgate pipeline save`."""
    details = _read_fields(details_file) if details_file else {}
    body = {**details, "type": type, "parent": parent, "name": name}
    done = f"{type} {name} is created below {parent}"
    write(WriteOptions(dry_run, reason, output), "POST", "/resources", done, body=body)


def rename_resource(
    resource: ResourceName, name: NewName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Rename a resource."""
    path = api_path("resources", resource)
    write(WriteOptions(dry_run, reason, output), "PATCH", path, f"{resource} is now {name}", body={"name": name})


def move_resource(
    resource: ResourceName,
    parent: ParentName,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="the new name, for a table")] = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Move a resource below another one. `--dry-run` shows the access that users lose and gain."""
    body = {"parent": parent, **({"name": name} if name else {})}
    path = api_path("resources", resource)
    write(WriteOptions(dry_run, reason, output), "PATCH", path, f"{resource} is now below {parent}", body=body)


def describe_resource(
    resource: ResourceName,
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="the new description; the command shows the description if left out"),
    ] = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Show the description of a resource, or replace it."""
    path = api_path("resources", resource, "description")
    if text is None:
        found = send_request("GET", path)
        if output == "json":
            write_json(found, indent=2)
        else:
            say(found["text"])
        return
    write(WriteOptions(dry_run, reason, output), "PUT", path, f"{resource} has a new description", body={"text": text})


def change_resource(
    resource: ResourceName,
    details_file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="a YAML or JSON file with the new `relations` or `attributes`; `-` is stdin"
        ),
    ],
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Change the relations or the attributes of a resource."""
    path = api_path("resources", resource)
    write(
        WriteOptions(dry_run, reason, output), "PATCH", path, f"{resource} is changed", body=_read_fields(details_file)
    )


def document_resource(
    resource: ResourceName,
    document_file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="a YAML or JSON file with the new document; `-` is stdin")
    ] = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Show the document of a resource as JSON, or replace it, for example a data contract."""
    path = api_path("resources", resource, "document")
    if document_file is None:
        write_json(send_request("GET", path), indent=2)
        return
    write(
        WriteOptions(dry_run, reason, output),
        "PUT",
        path,
        f"{resource} has a new document",
        body=_read_fields(document_file),
    )


def delete_resource(
    resource: ResourceName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Delete a resource. `--dry-run` shows the access that users lose."""
    write(WriteOptions(dry_run, reason, output), "DELETE", api_path("resources", resource), f"{resource} is deleted")


def _targets(targets: list[Mapping[str, Any]]) -> str:
    """Return the targets of a relation as text."""
    return ", ".join(f"{each['name'] or each['to']}{'' if each['enabled'] else ' (disabled)'}" for each in targets)


def _read_fields(file: Path) -> dict[str, Any]:
    found = read_yaml(file)
    if not isinstance(found, dict):
        raise ApiError(f"`{file}` has no fields; write at least one, for example `attributes`")
    return found
