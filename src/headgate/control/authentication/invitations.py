"""Invitations: whoever holds the link joins an organization, as far as who invited could add them then."""

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
"""Of the ids of invitations."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """Who holds its secret can join with a role on a place, until `ends` (seconds since the epoch)."""

    id: str
    organization: ResourceId
    by: Caller
    role: str
    place: ResourceId | None
    ends: float
    hash: str

    @property
    def newcomer(self) -> PrincipalId:
        """The id of the user that the invitation registers. It follows from its own, so that it registers one at most."""
        return PrincipalId(f"p{self.id.removeprefix(_PREFIX)}")

    @property
    def document(self) -> Mapping[str, Any]:
        """What is kept of it, until it is used, withdrawn or over."""
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
        """What erases it, for the one caller that finds it."""
        return DocumentPut("invitation", self.id, None, expected=self.document)


@dataclass(frozen=True, slots=True)
class Invite:
    """Somebody is invited, by who could add them."""

    invitation: Invitation
    name: str = "invitation.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need what adding them needs."""
        new = self.invitation
        if view.caller != new.by or new.by.run is not None:
            raise InvalidError("everybody invites for themselves")
        AddPrincipal(PrincipalId(new.id), new.id, new.role, new.place).decide(view)
        return CommandEffect((), (DocumentPut("invitation", new.id, new.document, new=True),))


@dataclass(frozen=True, slots=True)
class Join:
    """Somebody takes an invitation, which is used up by that. It is who invited that adds them."""

    invitation: Invitation
    principal: PrincipalId
    person: str
    name: str = "invitation.accept"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need what adding them needs, now, of who invited."""
        # The name is the deployment's, which knows them: it is not for who invited to choose.
        added = AddPrincipal(self.principal, self.principal, self.invitation.role, self.invitation.place).decide(view)
        named = DocumentPut("principal", self.principal, {"name": self.person})
        used = DocumentPut("invitation_used", self.invitation.id, {"principal": self.principal}, new=True)
        return CommandEffect(added.changes, (named, used, self.invitation.erasure))


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The invitation is good for nothing any more."""

    invitation: Invitation
    name: str = "invitation.withdraw"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Everybody their own; another's as who manages users."""
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

        Raises `NotFoundError` if it is none, was used or has ended, or if the user that invited could add no user now.
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
        """Raise `NotFoundError` if nobody could join by it now: before a user is registered, or anything else is done."""
        control = self._organizations.open(invitation.organization).control
        try:
            control.preview(Join(invitation, invitation.newcomer, ""), invitation.by)
        except (CallerGoneError, PermissionDeniedError, NotFoundError):
            raise build_missing_invitation_error() from None

    def list_visible(self, organization: Organization, caller: Caller) -> tuple[Invitation, ...]:
        """Return the invitations that stand: all for who manages users, one's own for anybody else."""
        control = organization.control
        own = None if is_narrowed(control.snapshot, caller) else caller.principal
        everybodys = control.ask(Question(caller, "organization.manage_users", organization.id)).allowed
        bodies = organization.store.documents("invitation").items()
        found = (_invitation(id, organization.id, body) for id, body in bodies if body["ends"] > control.now)
        return tuple(each for each in found if everybodys or each.by.principal == own)

    def list_ids_of(self, organization: Organization, principal: PrincipalId) -> tuple[str, ...]:
        """Return the ids of the invitations that a user has made and that were not used."""
        bodies = organization.store.documents("invitation").items()
        return tuple(id for id, body in bodies if body["principal"] == principal)

    def find_by_id(self, organization: Organization, caller: Caller, id: str) -> Invitation:
        """Return an invitation by its id. Raises `NotFoundError` for one that the caller may not see."""
        found = next((each for each in self.list_visible(organization, caller) if each.id == id), None)
        if found is None:
            raise build_missing_invitation_error()
        return found

    def tidy(self) -> None:
        """Erase what has ended by itself; nothing rests on it."""
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
    """Return the error for an invitation that was used, withdrawn or over, or never was."""
    return NotFoundError("this invitation is not good any more, or never was")
