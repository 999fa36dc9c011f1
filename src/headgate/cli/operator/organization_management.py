"""`headgate organization create`, `list`, `suspend`, `resume` and `delete`, on the deployment's own machine."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.filesize import decimal

from headgate.cli.confirmation import confirm, require_reason
from headgate.cli.local import Data, listed_organization, open_local_deployment, operator_call
from headgate.cli.options import DryRun, OutputMode, Reason, Yes
from headgate.cli.output import fail, format_time, print_items, say

if TYPE_CHECKING:
    from headgate.app.deployment import Deployment
    from headgate.app.folders.organization_folders import OrganizationFolders
    from headgate.control.kernel.command import Command
    from headgate.control.kernel.metadata import CommandMetadata
    from headgate.facts.ids import ResourceId

Named = Annotated[str, typer.Argument(metavar="ID|NAME", help="the name or id of the organization")]


def register(organizations: typer.Typer) -> None:
    """Add the commands to their group."""
    organizations.command("create", epilog="Example: headgate organization create acme --model harbour --owner ann")(
        create
    )
    organizations.command("list", epilog="Example: headgate organization list")(list_organizations)
    organizations.command("suspend", epilog='Example: headgate organization suspend acme --reason "it is not paid"')(
        suspend
    )
    organizations.command("resume", epilog="Example: headgate organization resume acme")(resume)
    organizations.command("delete", epilog="Example: headgate organization delete acme")(delete)


def create(
    name: Annotated[str, typer.Argument(help="the name of the new organization")],
    owner: Annotated[
        str, typer.Option(metavar="LOGIN", help="the login name of the first owner, a user of the deployment")
    ],
    model: Annotated[
        str | None, typer.Option(help="an installed access model; that of the setting HEADGATE_MODEL if left out")
    ] = None,
    tree: Annotated[
        str | None, typer.Option(help="the access model of its ownership tree; no tree if left out")
    ] = None,
    *,
    dry_run: DryRun = False,
    data: Data = None,
) -> None:
    """Create an organization with its first owner."""
    from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, preview_founding
    from headgate.control.kernel.ids import new_id
    from headgate.facts.ids import ResourceId

    with open_local_deployment(data) as deployment:
        user = deployment.auth_services.authentication.user_of(owner)
        founding = OrganizationSpec(
            ResourceId(new_id("o")), name, user.principal, user.name, model or deployment.settings.model, tree
        )
        preview_founding(deployment.organizations, founding)
        if not dry_run:
            create_organization(deployment.organizations, founding, call=operator_call())
    say(f"`{name}` would be created" if dry_run else f"`{name}` is created ({founding.root}); its owner is {owner}")


def list_organizations(*, data: Data = None, output: OutputMode = "table") -> None:
    """Show the organizations of the deployment."""
    from headgate.control.deployment.organization_list import describe_organization

    with open_local_deployment(data) as deployment:
        organizations = deployment.organizations
        found = sorted(
            (name, id, describe_organization(organizations, id)) for id, name in organizations.names_by_id.items()
        )
    items = [
        {"id": id, "name": name, "model": each.model, "state": each.state, "created": each.created}
        for name, id, each in found
    ]
    columns: dict[str, Any] = {
        "name": "name",
        "model": "model",
        "state": "state",
        "created": lambda each: format_time(each["created"]),
        "id": "id",
    }
    print_items(items, columns, output)


def suspend(
    organization: Named,
    reason: Reason,
    *,
    dry_run: DryRun = False,
    data: Data = None,
) -> None:
    """Suspend an organization. Every call in it is refused until it is resumed."""
    from headgate.control.organizations.suspension import SuspendOrganization

    require_reason(reason)
    with open_local_deployment(data) as deployment:
        id = listed_organization(deployment, organization)
        command = SuspendOrganization(id)
        _in_both(deployment, id, command, command, operator_call(reason), dry_run=dry_run)
        shown = _shown(deployment, id, organization)
    say(f"{shown} {'would be' if dry_run else 'is'} suspended")


def resume(organization: Named, *, dry_run: DryRun = False, data: Data = None) -> None:
    """Resume a suspended organization. Access in it is as before the suspension."""
    from headgate.control.organizations.suspension import ResumeOrganization

    with open_local_deployment(data) as deployment:
        id = listed_organization(deployment, organization)
        command = ResumeOrganization(id)
        _in_both(deployment, id, command, command, operator_call(), dry_run=dry_run)
        shown = _shown(deployment, id, organization)
    say(f"{shown} {'would be' if dry_run else 'is'} active")


def delete(
    organization: Named,
    *,
    with_files: Annotated[
        bool, typer.Option("--with-files", help="also delete the folders of the organization in the data folder")
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    data: Data = None,
) -> None:
    """Delete an organization with every principal in it. Its name can be used again.

    Its log is kept, for the auditor and for an export. Its files are kept too, unless you pass `--with-files`. The command
    asks for confirmation.
    """
    from headgate.app.folders.organization_folders import OrganizationFolders
    from headgate.control.organizations.organization_life import EndOrganization
    from headgate.control.organizations.removal import RemoveOrganization, require_removable

    with open_local_deployment(data) as deployment:
        id = listed_organization(deployment, organization)
        require_removable(deployment.organizations, id)
        shown = _shown(deployment, id, organization)
        _in_both(deployment, id, RemoveOrganization(id), EndOrganization(), operator_call(), dry_run=True)
        folders = OrganizationFolders(deployment.settings.folder, id) if with_files else None
        _require_in_data_folder(deployment, files=with_files)
        contents = _contents(deployment, id, folders)
        if dry_run:
            say(f"{shown} would be deleted, with {contents}")
            return
        if not yes:
            confirm(f"Delete {shown}, with {contents}? This cannot be undone.", "nothing was deleted")
        _in_both(deployment, id, RemoveOrganization(id), EndOrganization(), operator_call(), dry_run=False)
        if folders:
            _delete_folders(shown, folders)
    say(f"{shown} is deleted, with {contents}")
    say(f"its log is kept for the auditor: `headgate organization export {id} FILE` exports it")


def _in_both(
    deployment: "Deployment",
    id: "ResourceId",
    listed: "Command",
    own: "Command",
    call: "CommandMetadata",
    *,
    dry_run: bool,
) -> None:
    """Write to the organization's own log first, which decides everything in it; then to the log of the deployment."""
    organizations = deployment.organizations
    organizations.deployment.control.preview(listed, None, call)
    if not dry_run:
        organizations.open(id).control.execute(own, None, call)
        organizations.deployment.control.execute(listed, None, call)


def _require_in_data_folder(deployment: "Deployment", *, files: bool) -> None:
    """Raise `InvalidError` if the files to delete are in a bucket."""
    from headgate.control.kernel.errors import InvalidError

    bucket = deployment.settings.bucket
    if files and bucket is not None:
        raise InvalidError(
            f"the files of the tables are in `{bucket}`; leave out `--with-files` and delete the files in the bucket yourself"
        )


def _shown(deployment: "Deployment", id: "ResourceId", named: str) -> str:
    """Return an organization as messages show it: its name, with its id if the user did not pass the name."""
    name = deployment.organizations.names_by_id[id]
    return f"`{name}`" if named == name else f"`{name}` ({id})"


def _contents(deployment: "Deployment", id: "ResourceId", folders: "OrganizationFolders | None") -> str:
    """Return the contents of an organization as text: its principals, its tables, and the size of the folders to delete."""
    facts = deployment.organizations.open(id).control.snapshot
    tables = sum(each.type == "table" for each in facts.resources.values())
    size = f" and {decimal(folders.bytes())} of files" if folders else "; its files are kept"
    return f"{len(facts.principals)} principals, {tables} tables{size}"


def _delete_folders(shown: str, folders: "OrganizationFolders") -> None:
    """Delete the files of a deleted organization; if that fails, end with exit code 1 and the folders that are left."""
    try:
        folders.remove()
    except OSError as error:
        left = ", ".join(f"`{each}`" for each in folders.list_existing())
        fail(f"{shown} is deleted, but some of its files are not ({error.strerror}); delete {left} yourself")
        sys.exit(1)
