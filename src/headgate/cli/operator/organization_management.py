"""`headgate organization create`, `list`, `suspend`, `resume` and `remove`, on the deployment's own machine."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal

from headgate.cli.confirmation import confirm, require_reason
from headgate.cli.local import Data, listed_organization, open_local_deployment
from headgate.cli.output import fail, say, table, when

if TYPE_CHECKING:
    from headgate.app.deployment import Deployment
    from headgate.app.folders.organization_folders import OrganizationFolders
    from headgate.control.kernel.command import Command
    from headgate.control.kernel.metadata import CommandMetadata
    from headgate.facts.ids import ResourceId

Named = Annotated[str, typer.Argument(metavar="ID|NAME", help="the organization, by id or name")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="change nothing; say what would be done")]


def register(organizations: typer.Typer) -> None:
    """Add the commands to their group."""
    organizations.command("create")(create)
    organizations.command("list")(list_organizations)
    organizations.command("suspend")(suspend)
    organizations.command("resume")(resume)
    organizations.command("remove")(remove)


def create(
    name: Annotated[str, typer.Argument(help="its name")],
    owner: Annotated[str, typer.Option(metavar="LOGIN", help="the login name of the user who owns it at first")],
    model: Annotated[str, typer.Option(help="its home model")] = "nekt",
    tree: Annotated[str | None, typer.Option(help="the model of its ownership tree, if it is to have one")] = None,
    *,
    dry_run: DryRun = False,
    data: Data = None,
) -> None:
    """Create an organization."""
    from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, preview_founding
    from headgate.control.kernel.ids import new_id
    from headgate.facts.ids import ResourceId

    with open_local_deployment(data) as deployment:
        user = deployment.entrance.authentication.user_of(owner)
        founding = OrganizationSpec(ResourceId(new_id("o")), name, user.principal, user.name, model, tree)
        preview_founding(deployment.organizations, founding)
        if not dry_run:
            create_organization(deployment.organizations, founding, call=_call())
    say(f"`{name}` would be created" if dry_run else f"`{name}` is an organization ({founding.root}); {owner} owns it")


def list_organizations(data: Data = None) -> None:
    """Show the organizations of the deployment."""
    from headgate.control.deployment.organization_list import describe_organization

    with open_local_deployment(data) as deployment:
        organizations = deployment.organizations
        found = sorted(
            (name, id, describe_organization(organizations, id)) for id, name in organizations.listed.items()
        )
    rows = [(name, each.model, each.state, when(each.created), id) for name, id, each in found]
    table(("name", "model", "state", "created", "id"), rows)


def suspend(
    organization: Named,
    why: Annotated[str, typer.Option(help="why, for the audit")],
    *,
    dry_run: DryRun = False,
    data: Data = None,
) -> None:
    """Suspend an organization: nothing in it is allowed to any caller until it is resumed."""
    from headgate.control.organizations.suspension import SuspendOrganization

    require_reason(why)
    with open_local_deployment(data) as deployment:
        id = listed_organization(deployment, organization)
        command = SuspendOrganization(id)
        _in_both(deployment, id, command, command, _call(why), dry_run=dry_run)
        shown = _shown(deployment, id, organization)
    say(f"{shown} {'would be' if dry_run else 'is'} suspended")


def resume(organization: Named, *, dry_run: DryRun = False, data: Data = None) -> None:
    """Resume an organization: everything in it is decided as before it was suspended."""
    from headgate.control.organizations.suspension import ResumeOrganization

    with open_local_deployment(data) as deployment:
        id = listed_organization(deployment, organization)
        command = ResumeOrganization(id)
        _in_both(deployment, id, command, command, _call(), dry_run=dry_run)
        shown = _shown(deployment, id, organization)
    say(f"{shown} {'would be' if dry_run else 'is'} active")


def remove(
    organization: Named,
    *,
    files: Annotated[bool, typer.Option("--files", help="remove its folders in the data folder too")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="remove without asking first")] = False,
    dry_run: DryRun = False,
    data: Data = None,
) -> None:
    """Remove an organization: every principal in it is removed, and its name is free again.

    Its log stays, for the auditor and for an export. Its files stay too, without `--files`. The command asks for
    confirmation first.
    """
    from headgate.app.folders.organization_folders import OrganizationFolders
    from headgate.control.organizations.organization_life import EndOrganization
    from headgate.control.organizations.removal import RemoveOrganization, require_removable

    with open_local_deployment(data) as deployment:
        id = listed_organization(deployment, organization)
        require_removable(deployment.organizations, id)
        shown = _shown(deployment, id, organization)
        _in_both(deployment, id, RemoveOrganization(id), EndOrganization(), _call(), dry_run=True)
        folders = OrganizationFolders(deployment.settings.folder, id) if files else None
        _require_in_data_folder(deployment, files=files)
        contents = _contents(deployment, id, folders)
        if dry_run:
            say(f"{shown} would be removed, with {contents}")
            return
        if not yes:
            confirm(f"Remove {shown}, with {contents}? This cannot be undone.", "nothing was removed")
        _in_both(deployment, id, RemoveOrganization(id), EndOrganization(), _call(), dry_run=False)
        if folders:
            _remove_folders(shown, folders)
    say(f"{shown} is removed, with {contents}")
    say(f"its log stays, for an auditor: `headgate organization export {id} FILE`")


def _in_both(
    deployment: "Deployment",
    id: "ResourceId",
    listed: "Command",
    own: "Command",
    call: "CommandMetadata",
    *,
    dry_run: bool,
) -> None:
    """Write to the organization's own log first, by which everything in it is decided; then to the deployment's."""
    organizations = deployment.organizations
    organizations.deployment.control.preview(listed, None, call)
    if not dry_run:
        organizations.open(id).control.execute(own, None, call)
        organizations.deployment.control.execute(listed, None, call)


def _require_in_data_folder(deployment: "Deployment", *, files: bool) -> None:
    """Raise `InvalidError` where the files that are to be removed lie in a bucket."""
    from headgate.control.kernel.errors import InvalidError

    bucket = deployment.settings.bucket
    if files and bucket is not None:
        raise InvalidError(f"the tables' files lie in `{bucket}`; leave out `--files` and delete them there")


def _shown(deployment: "Deployment", id: "ResourceId", named: str) -> str:
    """Return an organization as answers show it: by its name, with its id where it was not `named` by its name."""
    name = deployment.organizations.listed[id]
    return f"`{name}`" if named == name else f"`{name}` ({id})"


def _contents(deployment: "Deployment", id: "ResourceId", folders: "OrganizationFolders | None") -> str:
    """Return how much there is in an organization, and in the folders that go with it, in words."""
    facts = deployment.organizations.open(id).control.snapshot
    tables = sum(each.type == "table" for each in facts.resources.values())
    size = f" and {decimal(folders.bytes())} of files" if folders else "; its files stay"
    return f"{len(facts.principals)} principals, {tables} tables{size}"


def _remove_folders(shown: str, folders: "OrganizationFolders") -> None:
    """Remove the files of an organization that is removed; end with exit code 1 and what is left if that fails."""
    try:
        folders.remove()
    except OSError as error:
        left = ", ".join(f"`{each}`" for each in folders.found())
        fail(f"{shown} is removed, but not all of its files ({error.strerror}); delete {left} by hand")
        sys.exit(1)


def _call(why: str = "") -> "CommandMetadata":
    from headgate.control.kernel.metadata import CommandMetadata
    from headgate.control.kernel.ports import RequestOrigin

    return CommandMetadata(RequestOrigin("operator"), why)
