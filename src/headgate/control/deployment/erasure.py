"""Erasure of a user's personal data: finds all documents about the user and erases them; the logs stay complete."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from headgate.control.access.subject_resolution import unknown_name_text
from headgate.control.authentication.email_addresses import ADDRESS, LOOK, EmailAddresses
from headgate.control.identity.principals import RemovePrincipal
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.login_normalization import parse_existing_login
from headgate.control.kernel.ports import DocumentPut, LogEntry, Store
from headgate.control.organizations.organization import Organization, Organizations
from headgate.facts.changes import AccessRequested, Change, RequestFiled
from headgate.facts.ids import PrincipalId, ResourceId

OWN_KINDS = ("principal", "user")
"""Kinds of documents that have the user's id as their id."""

NAMING_KINDS = (
    "access_token",
    ADDRESS,
    LOOK,
    "invitation",
    "invitation_used",
    "login",
    "password",
    "run_secret",
    "session",
    "subject",
    "token",
)
"""Kinds of documents that name the user as their `principal`."""

REASON_KINDS = "why"
"""The kind of document with the user's reason for a change; its id is the revision."""


@dataclass(frozen=True, slots=True)
class ForgetPrincipal:
    """Remove a user, if they are still a member, and erase these documents."""

    principal: PrincipalId
    documents: tuple[DocumentPut, ...]
    name: str = "principal.forget"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment itself does it: no caller can read every log."""
        if view.caller is not None:
            raise InvalidError(
                "a user's personal data can be erased only on the server's machine; ask the operator to run "
                "`headgate deployment-user erase`"
            )
        there = self.principal in view.facts.principals
        left = RemovePrincipal(self.principal).decide(view) if there else CommandEffect(())
        return CommandEffect(left.changes, (*left.documents, *self.documents))


def erase_person(organizations: Organizations, principal: PrincipalId) -> Mapping[ResourceId, int]:
    """Erase a user's personal data in every log; return the number of erased documents for each log.

    The user's access ends too. The user's actions stay in the logs, under an id that no longer identifies a person. The
    erasure can be repeated, to erase documents that were written while it ran.
    """
    everywhere = (organizations.deployment, *organizations.list_all())
    return {each.id: erased for each in everywhere if (erased := _forgotten(each, principal)) is not None}


def find_person(organizations: Organizations, called: str) -> PrincipalId:
    """Return the user with this id, login name, e-mail address or display name.

    Raises `NotFoundError` if there is none, `InvalidError` if several users have the name.
    """
    user = _user(organizations.deployment.store, called)
    if user is not None:
        return user
    if any(organizations.stores.find(kind, called) for kind in OWN_KINDS):
        return PrincipalId(called)
    everywhere = (organizations.deployment, *organizations.list_all())
    named = {
        id for each in everywhere for id, body in each.store.documents("principal").items() if body["name"] == called
    }
    if len(named) > 1:
        raise InvalidError(f"several users have the name `{called}`; use one of their ids: {', '.join(sorted(named))}")
    if not named:
        raise NotFoundError(unknown_name_text(called))
    return PrincipalId(named.pop())


def _user(store: Store, called: str) -> PrincipalId | None:
    """Return the user of a login name or an address, or None."""
    with suppress(InvalidError):
        document = store.document("login", parse_existing_login(called))
        if document is not None:
            return PrincipalId(str(document["principal"]))
    with suppress(InvalidError):
        return EmailAddresses(store).find(called)
    return None


def personal_documents(store: Store, principal: PrincipalId) -> tuple[DocumentPut, ...]:
    """Return the writes that erase every document about a user in a log."""
    said = {(kind, id) for entry in store.entries() for kind, id in _reason_documents(entry, principal)}
    named = {
        (kind, id)
        for kind in NAMING_KINDS
        for id, body in store.documents(kind).items()
        if body.get("principal") == principal
    }
    own = {(kind, str(principal)) for kind in OWN_KINDS}
    found = (each for each in sorted(said | named | own) if store.document(*each) is not None)
    return tuple(DocumentPut(kind, id, None) for kind, id in found)


def _forgotten(organization: Organization, principal: PrincipalId) -> int | None:
    """Erase a user in one log; return the number of erased documents, or None if the log has nothing about the user."""
    documents = personal_documents(organization.store, principal)
    if not documents and principal not in organization.control.snapshot.principals:
        return None
    organization.control.execute(ForgetPrincipal(principal, documents), None)
    return len(documents)


def _reason_documents(entry: LogEntry, principal: PrincipalId) -> Iterator[tuple[str, str]]:
    """Yield the documents with reasons that a user gave, or that are about the user."""
    if entry.actor == principal:
        yield REASON_KINDS, str(entry.revision)
    for change in entry.changes:
        yield from _find_own_requests(change, principal)


def _find_own_requests(change: Change, principal: PrincipalId) -> Iterator[tuple[str, str]]:
    match change:
        case RequestFiled(request=id, author=author) if author == principal:
            yield "request", id
        case AccessRequested(access=id, consumer=consumer, author=author) if principal in (consumer, author):
            yield "access", id
        case _:
            return
