"""Forgetting a person: which documents are about one, and how all of them are erased while every log stays whole."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from headgate.control.access.visibility import unknown_name_text
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
"""Kinds of documents whose id is the person's."""

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
"""Kinds of documents that name the person as their `principal`."""

REASON_KINDS = "why"
"""What the person said when they changed something; its id is the revision."""


@dataclass(frozen=True, slots=True)
class ForgetPrincipal:
    """The person leaves, if they are still there, and these documents go with them."""

    principal: PrincipalId
    documents: tuple[DocumentPut, ...]
    name: str = "principal.forget"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment forgets: nobody else sees every log."""
        if view.caller is not None:
            raise InvalidError("a person is forgotten on the deployment's own machine")
        there = self.principal in view.facts.principals
        left = RemovePrincipal(self.principal).decide(view) if there else CommandEffect(())
        return CommandEffect(left.changes, (*left.documents, *self.documents))


def erase_person(organizations: Organizations, principal: PrincipalId) -> Mapping[ResourceId, int]:
    """Erase what is known of a person in every log; return for each how many documents went.

    Their rights end with it. What they did stays in the logs, under an id that means nobody any more. It can be done
    again: what was written while it ran goes then.
    """
    everywhere = (organizations.deployment, *organizations.list_all())
    return {each.id: erased for each in everywhere if (erased := _forgotten(each, principal)) is not None}


def find_person(organizations: Organizations, called: str) -> PrincipalId:
    """Return whom somebody means by an id, a login name, an address or a name.

    Raises `NotFoundError` for nobody, `InvalidError` for a name of several.
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
        raise InvalidError(f"several people are called `{called}`; name one of {', '.join(sorted(named))}")
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
    """Return what erases every document of a log that is about a person."""
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
    """Forget a person in one log; return how many documents went, None where there was nothing of them."""
    documents = personal_documents(organization.store, principal)
    if not documents and principal not in organization.control.snapshot.principals:
        return None
    organization.control.execute(ForgetPrincipal(principal, documents), None)
    return len(documents)


def _reason_documents(entry: LogEntry, principal: PrincipalId) -> Iterator[tuple[str, str]]:
    """Yield the documents in which a person's reasons stand, or reasons that are about them."""
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
