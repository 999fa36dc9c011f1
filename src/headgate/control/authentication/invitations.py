"""Invitations: the holder of the link joins an organization, if the inviting user may add them at that time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headgate.control.authentication.secrets import INVITATION, generate, parse_secret
from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.identity.principals import AddPrincipal
from headgate.control.kernel.command import CommandContext, CommandEffect, PermissionDeniedError
from headgate.control.kernel.errors import CallerGoneError, InvalidError, NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.metadata import INTERNAL, CommandMetadata
from headgate.control.kernel.ports import DocumentConflictError, DocumentPut
from headgate.control.organizations.organization import Organization, Organizations
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Snapshot

_PREFIX: Final = "i"
"""The prefix of the ids of invitations."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation: the holder of its secret can join with a role on a place, until `ends` (seconds since the epoch)."""

    id: str
    organization: ResourceId
    by: Caller
    role: str
    place: ResourceId | None
    ends: float
    hash: str

    @property
    def newcomer(self) -> PrincipalId:
        """The id of the user that the invitation registers. It is derived from the invitation's id, so it registers one user only."""
        return PrincipalId(f"p{self.id.removeprefix(_PREFIX)}")

    @property
    def document(self) -> Mapping[str, Any]:
        """The stored document, until the invitation is used, withdrawn or expired."""
        return {
            "hash": self.hash,
            "principal": self.by.principal,
            "token": self.by.token,
            "role": self.role,
            "place": self.place,
            "ends": self.ends,
        }

    @property
    def erasure(self) -> DocumentPut:
        """The write that erases the document; it fails for every caller but the first."""
        return DocumentPut("invitation", self.id, None, expected=self.document)


@dataclass(frozen=True, slots=True)
class Invite:
    """Create an invitation, in the name of a user who may add the invited user."""

    invitation: Invitation
    name: str = "invitation.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the privileges for adding a user with that role."""
        new = self.invitation
        if view.caller != new.by or new.by.run is not None:
            raise InvalidError(
                "an invitation can be created only by a user in their own name, not by a run; log in, and "
                "create it in your own name"
            )
        AddPrincipal(PrincipalId(new.id), new.id, new.role, new.place).decide(view)
        return CommandEffect((), (DocumentPut("invitation", new.id, new.document, new=True),))


@dataclass(frozen=True, slots=True)
class Join:
    """Accept an invitation, which is used up. The user is added in the name of the inviting user."""

    invitation: Invitation
    principal: PrincipalId
    person: str
    name: str = "invitation.accept"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the inviting user still has the privileges for adding the user."""
        # The deployment sets the name, because it knows the user; the inviting user may not choose it.
        added = AddPrincipal(self.principal, self.principal, self.invitation.role, self.invitation.place).decide(view)
        named = DocumentPut("principal", self.principal, {"name": self.person})
        used = DocumentPut("invitation_used", self.invitation.id, {"principal": self.principal}, new=True)
        return CommandEffect(added.changes, (named, used, self.invitation.erasure))


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Withdraw an invitation."""

    invitation: Invitation
    name: str = "invitation.withdraw"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that it is the caller's own invitation, or `organization.manage_users`."""
        own = view.caller is None or not is_narrowed(view.facts, view.caller)
        if not own or view.actor != self.invitation.by.principal:
            view.require_action("organization.manage_users", view.root)
        return CommandEffect((), (self.invitation.erasure,))


class Invitations:
    """The invitations into the organizations of a deployment."""

    def __init__(self, organizations: Organizations, length: float) -> None:
        self._organizations = organizations
        self._length = length

    def draft(
        self, organization: Organization, caller: Caller, role: str, place: ResourceId | None = None
    ) -> tuple[Invite, str]:
        """Return the command that creates an invitation, and the invitation's secret, which is stored nowhere."""
        credential, ends = generate(new_id(_PREFIX)), self._organizations.now + self._length
        new = Invitation(credential.id, organization.id, caller, role, place, ends, credential.hash)
        return Invite(new), credential.format(INVITATION)

    def find(self, secret: str) -> Invitation:
        """Return the invitation of a secret.

        Raises `NotFoundError` if it is unknown, used or expired, or if the inviting user may not add the user now.
        """
        credential = parse_secret(INVITATION, secret)
        found = self._organizations.stores.find("invitation", credential.id) if credential else None
        if credential is None or found is None or not credential.matches(found[1]):
            raise build_missing_invitation_error()
        root, body = found
        # A caller that is no member must not learn that the organization is suspended.
        is_suspended = self._organizations.open(root).control.snapshot.is_suspended
        if body["ends"] <= self._organizations.now or is_suspended:
            raise build_missing_invitation_error()
        invitation = _invitation(credential.id, root, body)
        self._require_standing(invitation)
        return invitation

    def accept(
        self, invitation: Invitation, principal: PrincipalId, person: str, call: CommandMetadata = INTERNAL
    ) -> Snapshot:
        """Add a user of the deployment to the organization, in the name of the user that invited them.

        Raises `NotFoundError` if the inviting user could not do so now, `AlreadyExistsError` for a member.
        """
        organization = self._organizations.open(invitation.organization)
        try:
            return organization.control.execute(Join(invitation, principal, person), invitation.by, call).facts
        except (CallerGoneError, PermissionDeniedError, DocumentConflictError):
            raise build_missing_invitation_error() from None

    def organization_name(self, invitation: Invitation) -> str:
        """Return the name of the organization that an invitation is into."""
        return self._organizations.names_by_id.get(invitation.organization, invitation.organization)

    def _require_standing(self, invitation: Invitation) -> None:
        """Raise `NotFoundError` if the invitation cannot be accepted now; checked before a user is registered or anything is written."""
        control = self._organizations.open(invitation.organization).control
        try:
            control.preview(Join(invitation, invitation.newcomer, ""), invitation.by)
        except (CallerGoneError, PermissionDeniedError, NotFoundError):
            raise build_missing_invitation_error() from None

    def list_visible(self, organization: Organization, caller: Caller) -> tuple[Invitation, ...]:
        """Return the valid invitations: all if the caller may manage users, otherwise the caller's own."""
        control = organization.control
        own = None if is_narrowed(control.snapshot, caller) else caller.principal
        sees_all = control.ask(Question(caller, "organization.manage_users", organization.id)).allowed
        bodies = organization.store.documents("invitation").items()
        found = (_invitation(id, organization.id, body) for id, body in bodies if body["ends"] > control.now)
        return tuple(each for each in found if sees_all or each.by.principal == own)

    def list_ids_of(self, organization: Organization, principal: PrincipalId) -> tuple[str, ...]:
        """Return the ids of the unused invitations that a user has created."""
        bodies = organization.store.documents("invitation").items()
        return tuple(id for id, body in bodies if body["principal"] == principal)

    def find_by_id(self, organization: Organization, caller: Caller, id: str) -> Invitation:
        """Return an invitation by its id. Raises `NotFoundError` for one that the caller may not see."""
        found = next((each for each in self.list_visible(organization, caller) if each.id == id), None)
        if found is None:
            raise build_missing_invitation_error()
        return found

    def tidy(self) -> None:
        """Erase expired invitations. They are refused without that too."""
        for organization in self._organizations.readable():
            for id, body in organization.store.documents("invitation").items():
                if body["ends"] <= self._organizations.now:
                    organization.store.put_document(DocumentPut("invitation", id, None))


def _invitation(id: str, root: ResourceId, body: Mapping[str, Any]) -> Invitation:
    token, place = body["token"], body["place"]
    by = Caller(PrincipalId(body["principal"]), TokenId(token) if token else None)
    ends, kept = float(body["ends"]), str(body["hash"])
    return Invitation(id, root, by, str(body["role"]), ResourceId(place) if place else None, ends, kept)


def build_missing_invitation_error() -> NotFoundError:
    """Return the error for an invitation that was used, withdrawn, has expired or never existed: one text for all."""
    return NotFoundError(
        "the invitation is unknown, or it was used or withdrawn or has expired; ask for a new invitation"
    )
