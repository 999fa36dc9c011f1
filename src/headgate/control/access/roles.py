"""Roles that an organization defines for itself, out of what its model lets such roles be made of."""

from dataclasses import dataclass

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.display_names import require_display_name
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.decision.conditions import ConditionInput, holds
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import CustomRoleDefined, CustomRoleDeleted
from headgate.facts.ids import PrincipalId
from headgate.model.model import CustomRoles, Model


@dataclass(frozen=True, slots=True)
class DefineRole:
    """A role of the organization's own, which is these permissions together. It replaces the one of that name."""

    role: str
    permissions: tuple[str, ...]
    name: str = "role.define"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `organization.define_role`; the name does not stand for a role of the model that stays in force."""
        given = {"name": (self.role,), "permissions": self.permissions}
        view.require_action("organization.define_role", view.root, given=given)
        model, custom = _catalogue(view)
        require_display_name(view, self.role)
        if not self.role.strip():
            raise InvalidError("a role needs a name")
        if self.role in model.roles and self.role not in custom.replaces:
            raise InvalidError(f"`{self.role}` is a role of the model `{model.name}`; choose another name")
        unknown = sorted(set(self.permissions) - custom.of)
        if unknown:
            raise InvalidError(f"`{unknown[0]}` is no permission; there are {', '.join(sorted(custom.of))}")
        return CommandEffect((CustomRoleDefined(self.role, self.permissions),))


@dataclass(frozen=True, slots=True)
class DeleteRole:
    """There is no role of the organization's own of this name any more."""

    role: str
    name: str = "role.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `organization.delete_role`; the catalogue is not emptied while it is in force."""
        view.require_action("organization.delete_role", view.root, given={"name": (self.role,)})
        model, custom = _catalogue(view)
        if self.role not in view.facts.custom_roles:
            raise NotFoundError(f"the organization has no role `{self.role}` of its own")
        if view.caller is not None and len(view.facts.custom_roles) == 1 and _in_force(view, model, custom):
            raise InvalidError("the last role of the organization's own stays while these roles are in force")
        return CommandEffect((CustomRoleDeleted(self.role),))


def _catalogue(view: CommandContext) -> tuple[Model, CustomRoles]:
    """Return the model that lets the organization define roles. Raises `InvalidError` if none does."""
    for model in view.models.values():
        if model.custom_roles is not None and model.name in view.facts.find_governing_models(view.root):
            return model, model.custom_roles
    raise InvalidError("no access model in force here lets an organization define roles of its own")


def _in_force(view: CommandContext, model: Model, custom: CustomRoles) -> bool:
    root = view.facts.resources[view.root]
    question = Question(Caller(view.actor or PrincipalId("")), "", root.id)
    return holds(custom.when, ConditionInput(view.facts, question, model, root, view.now))
