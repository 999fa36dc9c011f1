"""Custom roles: roles that an organization defines from the permissions that its access model offers for them."""

from dataclasses import dataclass

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.display_names import require_display_name
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.operations import OperationPlace
from headgate.decision.conditions import ConditionInput, holds
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import CustomRoleDefined, CustomRoleDeleted
from headgate.facts.ids import PrincipalId
from headgate.model.model import CustomRoles, Model


@dataclass(frozen=True, slots=True)
class DefineRole:
    """Define a custom role with these permissions. It replaces the custom role of that name."""

    role: str
    permissions: tuple[str, ...]
    name: str = "role.define"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `organization.define_role`. The name may not be that of a role of the model that custom roles do not replace."""
        given = {"name": (self.role,), "permissions": self.permissions}
        root = OperationPlace(view.facts.resources[view.root], given=given)
        view.require_operation(self.name, {"organization": root})
        model, custom = _catalogue(view)
        require_display_name(view, self.role)
        if not self.role.strip():
            raise InvalidError("the name of the role has no characters except spaces; choose a name")
        if self.role in model.roles and self.role not in custom.replaces:
            raise InvalidError(f"`{self.role}` is a role of the model `{model.name}`; choose another name")
        unknown = sorted(set(self.permissions) - custom.of)
        if unknown:
            raise InvalidError(
                f"`{unknown[0]}` is not a permission of custom roles; choose from {', '.join(sorted(custom.of))}"
            )
        return CommandEffect((CustomRoleDefined(self.role, self.permissions),))


@dataclass(frozen=True, slots=True)
class DeleteRole:
    """Delete a custom role."""

    role: str
    name: str = "role.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `organization.delete_role`. The last custom role cannot be deleted while custom roles are in force."""
        root = OperationPlace(view.facts.resources[view.root], given={"name": (self.role,)})
        view.require_operation(self.name, {"organization": root})
        model, custom = _catalogue(view)
        if self.role not in view.facts.custom_roles:
            names = ", ".join(sorted(view.facts.custom_roles)) or "none"
            raise NotFoundError(f"the organization has no custom role `{self.role}`; its custom roles are {names}")
        if view.caller is not None and len(view.facts.custom_roles) == 1 and _in_force(view, model, custom):
            raise InvalidError(
                f"`{self.role}` is the organization's only custom role, and an organization with custom roles switched on must keep "
                "one; define another custom role first, or switch custom roles off"
            )
        return CommandEffect((CustomRoleDeleted(self.role),))


def _catalogue(view: CommandContext) -> tuple[Model, CustomRoles]:
    """Return the model that supports custom roles. Raises `InvalidError` if none does."""
    for model in view.models.values():
        if model.custom_roles is not None and model.name in view.facts.find_governing_models(view.root):
            return model, model.custom_roles
    raise InvalidError(
        "the access models of the organization do not support custom roles; assign roles of the access model instead"
    )


def _in_force(view: CommandContext, model: Model, custom: CustomRoles) -> bool:
    root = view.facts.resources[view.root]
    question = Question(Caller(view.actor or PrincipalId("")), "", root.id)
    return holds(custom.when, ConditionInput(view.facts, question, model, root, view.now))
