"""`headgate operator`: the users of the deployment that manage its organizations over the API."""

from typing import Annotated

import typer

from headgate.cli.command_groups import add_command_group
from headgate.cli.local import Data, open_local_deployment, operator_call
from headgate.cli.options import OutputMode
from headgate.cli.output import print_items, say

Login = Annotated[str, typer.Argument(metavar="NAME", help="the login name of the user")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    operators = add_command_group(app, "operator", "Operators: users that manage the organizations.")
    operators.command("add", epilog="Example: headgate operator add ann")(add)
    operators.command("remove", epilog="Example: headgate operator remove ann")(remove)
    operators.command("list", epilog="Example: headgate operator list")(list_operators)


def add(name: Login, data: Data = None) -> None:
    """Make a user of the deployment an operator. An operator has no privileges inside an organization."""
    from headgate.control.deployment.operators import add_operator

    with open_local_deployment(data) as deployment:
        user = deployment.auth_services.authentication.user_of(name)
        add_operator(deployment.organizations.deployment.control, user.principal, operator_call())
    say(f"{name} is an operator of the deployment")


def remove(name: Login, data: Data = None) -> None:
    """Remove a user from the operators. The user stays a user of the deployment."""
    from headgate.control.deployment.operators import remove_operator
    from headgate.control.kernel.errors import NotFoundError

    with open_local_deployment(data) as deployment:
        user = deployment.auth_services.authentication.user_of(name)
        try:
            remove_operator(deployment.organizations.deployment.control, user.principal, operator_call())
        except NotFoundError:
            raise NotFoundError(f"`{name}` is not an operator; `headgate operator list` shows the operators") from None
    say(f"{name} is no longer an operator")


def list_operators(*, data: Data = None, output: OutputMode = "table") -> None:
    """Show the operators of the deployment."""
    from headgate.control.deployment.operators import operators

    with open_local_deployment(data) as deployment:
        logins = deployment.auth_services.authentication
        found = [(id, logins.user(id)) for id in operators(deployment.organizations.deployment.control)]
    items = [{"id": id, "name": user.name if user else "", "login": user.login if user else ""} for id, user in found]
    print_items(items, {"name": "name", "login": "login", "id": "id"}, output)
