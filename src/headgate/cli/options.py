"""Options and arguments that several commands share, so that each has one name, one meaning and one help text."""

from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.completion import complete_principal, complete_resource, complete_role, complete_subject
from headgate.cli.output import OutputFormat

NewName = Annotated[str, typer.Argument(metavar="NAME", help="the new name")]
Subject = Annotated[
    str,
    typer.Option(
        "--subject",
        metavar="SUBJECT",
        autocompletion=complete_subject,
        help="the user, service principal, group or team, by name or id",
    ),
]
AboutPrincipal = Annotated[
    str | None,
    typer.Option(
        "--principal",
        metavar="PRINCIPAL",
        autocompletion=complete_principal,
        help="the user or service principal, by name or id; you if left out",
    ),
]
RoleName = Annotated[
    str,
    typer.Argument(
        metavar="ROLE", autocompletion=complete_role, help="a role of the model, for example viewer, editor or manager"
    ),
]
MemberName = Annotated[
    str, typer.Argument(metavar="MEMBER", autocompletion=complete_principal, help="the member, by name or id")
]
FirstRole = Annotated[
    str | None,
    typer.Option(
        "--role",
        metavar="ROLE",
        autocompletion=complete_role,
        help="the role of the user on the organization or the resource; the access model's role for newcomers if left out",
    ),
]
HomeResource = Annotated[
    str | None,
    typer.Option(
        "--resource",
        metavar="RESOURCE",
        autocompletion=complete_resource,
        help="the resource that the principal belongs to; the organization if left out",
    ),
]
ActionName = Annotated[str, typer.Argument(metavar="ACTION", help="an action, for example table.select")]
ResourceName = Annotated[
    str,
    typer.Argument(
        metavar="RESOURCE",
        autocompletion=complete_resource,
        help="a resource by name or id, for example lake.raw.flights, organization, or a connection",
    ),
]
OnlyResource = Annotated[
    str | None,
    typer.Option(
        "--resource", metavar="RESOURCE", autocompletion=complete_resource, help="show only entries about this resource"
    ),
]
OnlyAction = Annotated[
    str | None, typer.Option("--action", metavar="ACTION", help="show only entries about this action")
]
OnlyState = Annotated[str | None, typer.Option("--state", metavar="STATE", help="show only entries in this state")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="change nothing; show the effects")]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="the reason, which the audit keeps")]
OutputMode = Annotated[OutputFormat, typer.Option("--output", "-o", help="the format of the output")]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME|+30d",
        help="the time at which the access ends (ISO 8601, UTC), or an offset from now in days, hours or minutes (d, h, m); never if left out",
    ),
]
AccessPurpose = Annotated[str, typer.Option("--purpose", metavar="TEXT", help="the purpose of the access")]
OutputFile = Annotated[
    Path | None, typer.Option("--output-file", metavar="FILE", help="the file to write; the terminal if left out")
]
Detach = Annotated[bool, typer.Option("--detach", help="return at once; do not wait for the end of the run")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="read the password from stdin; without it the command asks for it")
]
