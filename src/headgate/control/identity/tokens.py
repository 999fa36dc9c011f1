"""Tokens: secrets that act as their principal. A secret is shown once and kept as a hash."""

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headgate.control.kernel.command import CommandContext, CommandEffect, model_has_action
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.ports import DocumentPut
from headgate.decision.context import model_for
from headgate.decision.reference import ASSIGNING
from headgate.facts.caller import Caller
from headgate.facts.changes import TokenIssued, TokenRevoked
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Resource

LAST_USE = "token_use"
"""The kind of document that says when a token was used last, to the minute."""

TOKEN_PREFIX = "hgt"  # noqa: S105 (no secret: what every token begins with)
"""What a token begins with."""


def format_token(token: TokenId, secret: str) -> str:
    """Return the token as its holder writes it."""
    return f"{TOKEN_PREFIX}.{token}.{secret}"


def parse_token(text: str) -> tuple[TokenId, str] | None:
    """Return id and secret of a token as written, or None if it is not one."""
    prefix, _, rest = text.partition(".")
    token, _, secret = rest.rpartition(".")  # an id may have dots, a secret has none
    known = prefix == TOKEN_PREFIX and token and secret and text.isprintable()
    return (TokenId(token), secret) if known else None


def token_document(principal: PrincipalId, secret: str, label: str = "") -> Mapping[str, str]:
    """Return what is kept of a token as a document: its secret is not."""
    return {"hash": _hash(secret), "label": label, "principal": principal}


def matches(document: Mapping[str, Any], secret: str) -> bool:
    """Say whether the secret is the one that the token's document keeps the hash of."""
    return hmac.compare_digest(str(document.get("hash", "")), _hash(secret))


def _hash(secret: str) -> str:
    # A secret is 256 random bits, so that a plain hash is enough: there is nothing to guess.
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class IssueToken:
    """A new token for a principal, until `ends` (seconds since the epoch; None = no end).

    `only` narrows it to what can be done by way of these resources, `actions` to these actions. With a `parent` it is a
    resource there, on which the model says who may delete it. It takes the place of the token `replaces`.
    """

    token: TokenId
    secret: str
    principal: PrincipalId
    label: str = ""
    ends: float | None = None
    only: tuple[ResourceId, ...] | None = None
    actions: tuple[str, ...] | None = None
    parent: ResourceId | None = None
    replaces: TokenId | None = None
    by_access_token: bool = False
    """Whether the caller presented an access token, which ends soon, and no token."""
    name: str = "token.issue"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Everybody for themselves, where the parent's model does not say otherwise; for another one see `require_may_act_as`."""
        view.require_principal(self.principal)
        if self.by_access_token:
            raise InvalidError("an access token issues no tokens; use the token that it was issued for")
        _not_wider(view, self.ends)
        if self.parent is not None:
            place = view.target(self.parent)
            view.require_action(f"{place.type}.create_token", place.id)
        require_may_act_as(view, self.principal)
        for each in self.only or ():
            view.resource(each)
        _require_known_actions(view, self.actions or ())
        view.free_id(self.token)
        if self.ends is not None and self.ends <= view.now:
            raise InvalidError("the token would have ended already")
        parent = self.parent or _service(view, self.principal)
        issued = TokenIssued(self.token, self.principal, self.ends, self.only, self.actions, parent)
        ended = self._end_replaced(view)
        return CommandEffect(
            (*ended.changes, issued),
            (
                *ended.documents,
                DocumentPut("token", self.token, token_document(self.principal, self.secret, self.label)),
            ),
        )

    def _end_replaced(self, view: CommandContext) -> CommandEffect:
        if self.replaces is None:
            return CommandEffect(())
        old = view.facts.tokens.get(self.replaces)
        if old is None or old.principal != self.principal:
            raise NotFoundError(f"there is no token `{self.replaces}` of this principal")
        return _build_revocation(self.replaces)


@dataclass(frozen=True, slots=True)
class RevokeToken:
    """The token is dead from now on."""

    token: TokenId
    name: str = "token.revoke"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Everybody their own; another's with `token.delete` where it is a resource, else as who may remove them."""
        token = view.facts.tokens.get(self.token)
        if token is None:
            raise NotFoundError(f"there is no token `{self.token}`")
        _no_run(view)
        if view.caller is None or view.caller.principal != token.principal:
            self._anothers(view, token.principal)
        elif view.caller.token != self.token:
            _not_narrowed(view, view.caller)
        return _build_revocation(self.token)

    def _anothers(self, view: CommandContext, principal: PrincipalId) -> None:
        if self.token in view.facts.resources:
            view.require_action("token.delete", ResourceId(self.token))
            return
        view.require_action("organization.manage_users", view.root)
        for role, place, _ in view.facts.assignments.get(principal, ()):
            if place == view.root:
                view.require_action("assignment.remove", place, role=role, subject=principal)


def _build_revocation(token: TokenId) -> CommandEffect:
    return CommandEffect((TokenRevoked(token),), tuple(token_erasures(token)))


def token_erasures(token: TokenId) -> Iterator[DocumentPut]:
    """Yield what is erased when a token ends."""
    yield DocumentPut("token", token, None)
    yield DocumentPut(LAST_USE, token, None)


def _require_known_actions(view: CommandContext, actions: Iterable[str]) -> None:
    known = (*view.models.values(),)
    for each in actions:
        if (
            view.caller is not None
            and each not in ASSIGNING
            and not any(model_has_action(model, each) for model in known)
        ):
            raise InvalidError(f"no access model in force knows the action `{each}`")


def _no_run(view: CommandContext) -> None:
    if view.caller is not None and view.caller.run is not None:
        raise InvalidError("a run has the rights of its run and cannot make or end tokens")


def is_restricted(view: CommandContext, caller: Caller) -> bool:
    """Say whether the caller uses a token that may do less than its principal."""
    token = view.facts.tokens[caller.token] if caller.token else None
    return token is not None and (token.only is not None or token.actions is not None)


def _not_narrowed(view: CommandContext, caller: Caller) -> None:
    if is_restricted(view, caller):
        raise InvalidError("a narrowed token makes and ends no tokens; use one that is not")


def _not_wider(view: CommandContext, ends: float | None) -> None:
    """Raise `InvalidError` for what would last longer or do more than what it is asked for with.

    Or whoever finds a token that ends tomorrow, or does little, makes it one that never ends, or does everything.
    """
    _no_run(view)
    if view.caller is None or view.caller.token is None:
        return
    _not_narrowed(view, view.caller)
    limit = view.facts.tokens[view.caller.token].ends
    if limit is not None and (ends is None or ends > limit):
        raise InvalidError("a token that ends can only make tokens that end no later; use one without an end")


def require_may_act_as(view: CommandContext, principal: PrincipalId) -> None:
    """Require the right to act as a principal: one's own, a service principal's by the model, else all its roles.

    A token acts as its principal, so that making one is at least as much as giving everything that it holds. Of a service
    principal, where the model has no action for its tokens, it is editing it, too.
    """
    if view.caller is None or view.caller.principal == principal:
        return
    service = view.facts.resources.get(ResourceId(principal))
    known = [each for each in ("create_token", "edit") if service is not None and _knows(view, service, each)]
    if service is not None and known:
        view.require_action(f"{service.type}.{known[0]}", service.id)
        if known[0] == "create_token":
            return
    else:
        view.require_action("organization.manage_users", view.root)
    for subject in (principal, *view.facts.groups_of(principal)):
        for role, place, _ in view.facts.assignments.get(subject, ()):
            view.require_action("assignment.add", place, role=role, subject=subject)


def _knows(view: CommandContext, resource: Resource, verb: str) -> bool:
    return model_has_action(view.model_for(resource.type, resource.id), f"{resource.type}.{verb}")


def _service(view: CommandContext, principal: PrincipalId) -> ResourceId | None:
    """Return a service principal as the parent of its tokens, where the model puts tokens there."""
    service = view.facts.resources.get(ResourceId(principal))
    model = model_for(view.models, view.facts, "token", service.id) if service else None
    return service.id if service and model and service.type in model.types["token"].parents else None
