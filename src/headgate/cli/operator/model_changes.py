"""`headgate model upgrade` and `headgate organization set-model`, on the deployment's own machine."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.confirmation import confirm
from headgate.cli.local import Data, listed_organization, open_local_deployment, operator_call
from headgate.cli.options import DryRun, Reason, Yes
from headgate.cli.output import print_table, say

if TYPE_CHECKING:
    from headgate.app.deployment import Deployment
    from headgate.control.models.change import ModelChangePreview, RequestedModel
    from headgate.facts.ids import PrincipalId, ResourceId

_MOST_ROLES = 20
"""The most rows of assignments that lose their meaning."""

Named = Annotated[str, typer.Argument(metavar="ORGANIZATION", help="the name or id of the organization")]
Version = Annotated[
    int | None, typer.Option(help="an installed version of the model, also an earlier one; the current one if left out")
]


def register_upgrade(models: typer.Typer) -> None:
    """Add the command to the group of the models."""
    models.command("upgrade", epilog="Example: headgate model upgrade acme --dry-run")(upgrade)


def register_choice(organizations: typer.Typer) -> None:
    """Add the command to the group of the organizations."""
    organizations.command("set-model", epilog="Example: headgate organization set-model acme harbour --dry-run")(
        set_model
    )


def upgrade(
    organization: Named,
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="a model that decides there; the home model if left out")
    ] = None,
    *,
    version: Version = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    reason: Reason = "",
    data: Data = None,
) -> None:
    """Upgrade an access model of an organization to the installed version, or bring it back to an earlier one.

    The command shows the decisions and the pipelines that change, and asks for confirmation.
    """
    from headgate.control.kernel.errors import InvalidError
    from headgate.control.models.change import RequestedModel

    with open_local_deployment(data) as deployment:
        facts = deployment.organizations.open(listed_organization(deployment, organization)).control.snapshot
        name = model or facts.model
        if name not in facts.models_in_force:
            raise InvalidError(
                f"the access model `{name}` does not decide in `{organization}`; `headgate organization set-model {organization} "
                f"{name}` chooses it"
            )
        _change(
            deployment,
            organization,
            RequestedModel(name, version, is_upgrade=True),
            yes=yes,
            dry_run=dry_run,
            reason=reason,
        )


def set_model(
    organization: Named,
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="an installed model; `headgate model list-installed` shows the models"),
    ],
    *,
    version: Version = None,
    project: Annotated[
        str | None, typer.Option(metavar="ID|NAME", help="a project of the organization, for which the model decides")
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    reason: Reason = "",
    data: Data = None,
) -> None:
    """Choose another access model for an organization, or for one of its projects.

    Assignments of the organization are kept where the new model has a role of the same name; the others, and those in a project
    that changes its model, have no effect until their model is chosen again. The command shows the decisions and the pipelines that change, and asks for confirmation.
    """
    from headgate.control.models.change import RequestedModel

    with open_local_deployment(data) as deployment:
        place = None if project is None else _find_project(deployment, organization, project)
        wanted = RequestedModel(model, version, place)
        _change(deployment, organization, wanted, yes=yes, dry_run=dry_run, reason=reason)


def _find_project(deployment: "Deployment", organization: str, project: str) -> "ResourceId":
    from headgate.control.kernel.errors import NotFoundError

    facts = deployment.organizations.open(listed_organization(deployment, organization)).control.snapshot
    for each in facts.resources.values():
        if each.type == "project" and project in (each.id, each.name):
            return each.id
    raise NotFoundError(f"the organization `{organization}` has no project `{project}`; check the name")


def _change(
    deployment: "Deployment",
    organization: str,
    wanted: "RequestedModel",
    *,
    yes: bool,
    dry_run: bool,
    reason: str,
) -> None:
    from headgate.control.models.change import build_change, change_model, preview_change

    organizations = deployment.organizations
    there = organizations.open(listed_organization(deployment, organization))
    preview = preview_change(there, build_change(organizations, there, wanted))
    shown = f"version {preview.command.model.version} of the access model `{wanted.name}`"
    if not preview.is_needed:
        say(f"{shown} decides in `{organization}` already")
        return
    _print_effects(preview, there.directory.name)
    if dry_run:
        say(f"{shown} would decide in `{organization}`")
        return
    if not yes:
        confirm(f"Let {shown} decide in `{organization}`?", "nothing was changed")
    change_model(organizations, there, wanted, preview.confirmation, call=operator_call(reason))
    say(f"{shown} decides in `{organization}`")


def _print_effects(preview: "ModelChangePreview", name: "Callable[[PrincipalId], str]") -> None:
    from headgate.cli.facts.impact import print_consequences
    from headgate.cli.facts.names import name_text
    from headgate.facts.ids import PrincipalId

    rows = [
        (name(PrincipalId(each.subject)), each.role, name_text(preview.facts, each.resource)) for each in preview.lost
    ]
    if rows:
        print_table(("subject", "role", "resource"), rows[:_MOST_ROLES])
        more = f", the first {_MOST_ROLES} of which are above" if len(rows) > _MOST_ROLES else ""
        say(f"assignments that lose their meaning: {len(rows)}{more}")
    print_consequences(preview.facts, preview.impact, json=False, name=name)
    if preview.sections:
        say(f"parts of the model that differ: {', '.join(preview.sections)}")
