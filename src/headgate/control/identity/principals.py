"""Users and service principals of an organization: adding, changing and removing them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from headgate.control.access.last_owner import require_remaining_owner
from headgate.control.access.single_holders import require_several_holders
from headgate.control.access.visibility import may_see_subject
from headgate.control.identity.tokens import token_erasures
from headgate.control.kernel.command import CommandContext, CommandEffect, resolve_role_model
from headgate.control.kernel.display_names import require_display_name, usable_name_of_user
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError
from headgate.control.kernel.operations import AssignmentWords, OperationPlace
from headgate.control.kernel.ports import DocumentPut
from headgate.control.resources.implicit import creator_assignments
from headgate.facts.changes import (
    AccessDeleted,
    Attributes,
    Change,
    PrincipalAdded,
    PrincipalExpires,
    PrincipalRemoved,
    RequestDecided,
    RoleAssigned,
)
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Resource
from headgate.model.model import Model

_SERVICE = "service_principal"

_MOST_ROLES: Final = 5
"""The most roles that a message suggests for a new user."""


@dataclass(frozen=True, slots=True)
class AddPrincipal:
    """Add a user, with a role on the organization or on the resource `place` to which its model adds users.

    `attributes` are those that decisions depend on, such as the domain of the user's address. The name is a document.
    """

    principal: PrincipalId
    person: str
    role: str
    place: ResourceId | None = None
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])
    name: str = "principal.add"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the privilege to assign the role to a joining user, and `add_user` if the model has it."""
        place = view.target(self.place or view.root)
        model = view.model_for(place.type, place.id)
        usable_name_of_user(view, self.principal, self.person)
        resolve_role_model(view, self.role, place)
        require_several_holders(model, self.role)
        if model.has_action(f"{place.type}.add_user"):
            view.require_action(f"{place.type}.add_user", place.id)
        about = OperationPlace(place, about=AssignmentWords(self.role))
        view.require_operation("role.assign", {"resource": about})
        _require_newcomer(view, self.principal)
        return CommandEffect(
            (
                PrincipalAdded(self.principal, "user", self.attributes),
                RoleAssigned(self.principal, self.role, place.id, model.name, view.actor),
            ),
            (DocumentPut("principal", self.principal, {"name": self.person}),),
        )


@dataclass(frozen=True, slots=True)
class SignUp:
    """Add a user who joins alone. The user gets the model's role for newcomers; in the deployment itself, no role.

    The deployment sends the command after it has authenticated the user.
    """

    principal: PrincipalId
    person: str
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])
    name: str = "principal.sign_up"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment signs the user up, and that the user is not a member yet."""
        if view.caller is not None:
            raise InvalidError(
                "a user is added to an organization by an invitation, or by the first login; create an invitation for the user"
            )
        if any(place == view.root for _, place, _ in view.facts.assignments.get(self.principal, ())):
            raise AlreadyExistsError(
                f"the user `{self.principal}` is already a member of the organization; no change is needed"
            )
        added: tuple[Change, ...] = ()
        if self.principal not in view.facts.principals:
            view.free_id(self.principal)
            added = (PrincipalAdded(self.principal, "user", self.attributes),)
        document = DocumentPut("principal", self.principal, {"name": self.person})
        return CommandEffect((*added, *self._welcome(view)), (document,))

    def _welcome(self, view: CommandContext) -> Iterator[Change]:
        if view.target(view.root).type == "deployment":
            return
        role = view.model.newcomer
        if role is None:
            raise InvalidError(
                f"the access model `{view.model.name}` does not let users join by themselves; ask a user who manages the members to add you"
            )
        yield RoleAssigned(self.principal, role, view.root, view.model.name)


@dataclass(frozen=True, slots=True)
class RemovePrincipal:
    """Remove a user, with memberships, assignments, tokens and open requests; the name is erased.

    The `invitations` that the user created are erased too, because they would be valid again if the user returned.
    """

    principal: PrincipalId
    invitations: tuple[str, ...] = ()
    name: str = "principal.remove"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the privilege to remove every role held on the organization, and `organization.manage_users` if the model has it.

        The last owner cannot be removed.
        """
        _require_removing(view, self.principal)
        removal = _build_removal(view, self.principal)
        revoked = (DocumentPut("invitation", each, None) for each in self.invitations)
        return CommandEffect(removal.changes, (*removal.documents, *revoked))


@dataclass(frozen=True, slots=True)
class CreateServicePrincipal:
    """Create a service principal. With a `scope` of the model it gets the scope's roles, otherwise `role`, if any.

    `place` is its parent: the organization, or a team.
    """

    principal: PrincipalId
    title: str
    role: str | None = None
    scope: str | None = None
    place: ResourceId | None = None
    name: str = "service_principal.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `create_service_principal` on the place, for this scope, and the privilege to assign the role, if any."""
        place = view.target(self.place or view.root)
        model = view.model_for(_SERVICE, place.id)
        require_display_name(view, self.title)
        scope = (self.scope,) if self.scope else ()
        view.require_operation(self.name, {"parent": OperationPlace(place, given={"scope": scope})})
        view.free_id(self.principal)
        added = PrincipalAdded(self.principal, _SERVICE)
        if self.role is not None:
            resolve_role_model(view, self.role, place)
            require_several_holders(model, self.role)
            after = view.with_changes(added)
            about = OperationPlace(place, about=AssignmentWords(self.role, self.principal))
            after.require_operation("role.assign", {"resource": about})
        roles = self._roles(view, model, place)
        given = (RoleAssigned(self.principal, role, id, model.name, view.actor) for id, role in roles.items())
        makes = creator_assignments(view, ResourceId(self.principal), _SERVICE, place.id, model)
        return CommandEffect((added, *given, *makes), (DocumentPut("principal", self.principal, {"name": self.title}),))

    def _roles(self, view: CommandContext, model: Model, place: Resource) -> Mapping[ResourceId, str]:
        if self.scope is None:
            return {place.id: self.role} if self.role else {}
        if self.role is not None or self.scope not in model.scopes:
            scopes = ", ".join(model.scopes) or "none"
            if self.role is not None:
                raise InvalidError(
                    "a service principal gets its access either from `role` or from `scope`; send only one of them"
                )
            raise InvalidError(f"the access model `{model.name}` has no scope `{self.scope}`; its scopes are {scopes}")
        roles = model.scopes[self.scope]
        return {each.id: roles[each.type] for each in (place, view.target(view.root)) if each.type in roles}


@dataclass(frozen=True, slots=True)
class DeleteServicePrincipal:
    """Delete a service principal, with its tokens and assignments."""

    principal: PrincipalId
    name: str = "service_principal.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `service_principal.delete`, or, if the model does not have it, the privileges for removing a user."""
        _require_on(view, self.principal, "delete")
        return _build_removal(view, self.principal)


@dataclass(frozen=True, slots=True)
class ExpirePrincipal:
    """Set the expiry of a service principal: from `ends` on (seconds since the epoch; None = no end) it may do nothing."""

    principal: PrincipalId
    ends: float | None
    name: str = "service_principal.expire"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `service_principal.edit`, or, if the model does not have it, the privileges for removing a user."""
        _require_on(view, self.principal, "edit")
        return CommandEffect((PrincipalExpires(self.principal, self.ends),))


@dataclass(frozen=True, slots=True)
class RenameServicePrincipal:
    """Rename a service principal. The facts have only its id; the name is a document."""

    principal: PrincipalId
    title: str
    name: str = "service_principal.rename"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `service_principal.edit`, or, if the model does not have it, the privileges for removing a user."""
        require_display_name(view, self.title)
        _require_on(view, self.principal, "edit")
        return CommandEffect((), (DocumentPut("principal", self.principal, {"name": self.title}),))


def choose_first_role(model: Model, named: str | None) -> str:
    """Return the named role, or else the role of the model for newcomers. Raises `InvalidError` if the model has none."""
    role = named or model.newcomer
    if role is None:
        roles = sorted(each.name for each in model.roles.values() if "organization" in each.on and "user" in each.to)
        raise InvalidError(
            f"the access model `{model.name}` has no role for newcomers; name the role of the user, such as "
            f"{', '.join(f'`{each}`' for each in roles[:_MOST_ROLES])}"
        )
    return role


def _require_newcomer(view: CommandContext, principal: PrincipalId) -> None:
    """Raise `AlreadyExistsError` if the user is a member already; `is_hidden` if the caller may not see that user."""
    if view.caller is not None and principal in view.facts.principals:
        is_hidden = not may_see_subject(view.engine, view.caller, principal, view.now)
        raise AlreadyExistsError(
            "the user is already a member of the organization; assign a role to the user instead", is_hidden=is_hidden
        )
    view.free_id(principal)


def _require_on(view: CommandContext, principal: PrincipalId, verb: str) -> None:
    found = view.target(ResourceId(principal), _SERVICE)
    if view.model_for(_SERVICE, found.id).has_action(f"{_SERVICE}.{verb}"):
        view.require_action(f"{_SERVICE}.{verb}", found.id)
    else:
        _require_removing(view, principal)


def _require_removing(view: CommandContext, principal: PrincipalId) -> None:
    """Require the privilege to revoke every role of the principal on the organization; without a role, to manage users."""
    roles = [role for role, place, _ in view.facts.assignments.get(principal, ()) if place == view.root]
    if not roles or view.model.has_action("organization.manage_users"):
        view.require_action("organization.manage_users", view.root)
    view.require_principal(principal)
    for role in roles:
        view.require_action("assignment.remove", view.root, role=role, subject=principal)


def _build_removal(view: CommandContext, principal: PrincipalId) -> CommandEffect:
    change = PrincipalRemoved(principal)
    require_remaining_owner(view, principal, change)
    tokens = sorted(id for id in view.facts.actors_of.get(principal, ()) if id in view.facts.tokens)
    documents = (each for id in tokens for each in token_erasures(TokenId(id)))
    # An agreement names its consumer even after removal: it would be in force again if the user returned.
    named = sorted(view.facts.referrers.get(ResourceId(principal), ()))
    accesses = [id for id in named if id in view.facts.agreements]
    asked = (DocumentPut("access", id, None) for id in accesses)
    waiting = (id for id, each in view.facts.requests.items() if each.author == principal and each.state == "requested")
    ended = (RequestDecided(id, "rejected") for id in sorted(waiting))
    return CommandEffect(
        (*map(AccessDeleted, accesses), *ended, change),
        (DocumentPut("principal", principal, None), *documents, *asked),
    )
