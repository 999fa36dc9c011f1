"""Operators: users of the deployment who create, list, suspend and remove organizations."""

from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.control import Control
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.metadata import CommandMetadata
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.decision.context import model_for
from headgate.facts.ids import PrincipalId

OPERATOR = "operator"
"""The role, in the model `deployment`."""


def add_operator(deployment: Control, user: PrincipalId, call: CommandMetadata) -> None:
    """Assign the role to a user. Raises `InvalidError` if the model that decides on the deployment has no operators."""
    _require_role(deployment)
    deployment.execute(AssignRole(user, OPERATOR, DEPLOYMENT), None, call)


def remove_operator(deployment: Control, user: PrincipalId, call: CommandMetadata) -> None:
    """Revoke the role. Raises `NotFoundError` if the user does not hold it."""
    _require_role(deployment)
    deployment.execute(RevokeRole(user, OPERATOR, DEPLOYMENT), None, call)


def operators(deployment: Control) -> tuple[PrincipalId, ...]:
    """Return the users who hold the role, sorted."""
    held = deployment.snapshot.list_assigned_on(DEPLOYMENT)
    return tuple(sorted(PrincipalId(each.subject) for each in held if each.role == OPERATOR))


def _require_role(deployment: Control) -> None:
    model = model_for(deployment.models, deployment.snapshot, "deployment", DEPLOYMENT)
    if model is None or not model.has_action("deployment.suspend_organization"):
        name = model.name if model else "none"
        raise InvalidError(
            f"only a user with the role `{OPERATOR}` manages organizations over the API, and the access model of this deployment, "
            f"`{name}`, has no such role; run `headgate organization` on the server's machine"
        )
