"""Tokens: secrets that act as their principal. A secret is shown once and stored as a hash."""

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.ports import DocumentPut
from headgate.control.kernel.vocabulary import is_known_action
from headgate.decision.context import model_for
from headgate.facts.caller import Caller
from headgate.facts.changes import TokenIssued, TokenRevoked
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Resource

LAST_USE = "token_use"
"""The kind of document with the time of a token's last use, to the minute."""

TOKEN_PREFIX = "hgt"  # noqa: S105 (no secret: the prefix of every token)
"""The prefix of every token."""


def format_token(token: TokenId, secret: str) -> str:
    """Return the token in the form in which its holder presents it."""
    return f"{TOKEN_PREFIX}.{token}.{secret}"


def parse_token(text: str) -> tuple[TokenId, str] | None:
    """Return the id and the secret of a token, or None if the text is not a token."""
    prefix, _, rest = text.partition(".")
    token, _, secret = rest.rpartition(".")  # an id may have dots, a secret has none
    known = prefix == TOKEN_PREFIX and token and secret and text.isprintable()
    return (TokenId(token), secret) if known else None


def token_document(principal: PrincipalId, secret: str, label: str = "") -> Mapping[str, str]:
    """Return the document of a token: it has the hash of the secret, not the secret."""
    return {"hash": _hash(secret), "label": label, "principal": principal}


def matches(document: Mapping[str, Any], secret: str) -> bool:
    """Return whether a token's document has the hash of this secret."""
    return hmac.compare_digest(str(document.get("hash", "")), _hash(secret))


def _hash(secret: str) -> str:
    # A secret is 256 random bits, so that a plain hash is enough: it cannot be guessed.
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class IssueToken:
    """Issue a token for a principal, valid until `ends` (seconds since the epoch; None = no end).

    `only` narrows the token to decisions by way of these resources, `actions` to these actions. With a `parent` the token
    is a resource below it, and the model says which users may delete it. The token `replaces`, if any, is revoked. With
    `acts_in`, the principal acts in that team, of which it must be a member.
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
    acts_in: ResourceId | None = None
    by_access_token: bool = False
    """Whether the caller presented a short-lived access token instead of a token."""
    name: str = "token.issue"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Any principal may, for itself, unless the parent's model forbids it; for another principal see `require_may_act_as`."""
        view.require_principal(self.principal)
        if self.by_access_token:
            raise InvalidError(
                "an access token of `/oauth2/token` cannot issue tokens; send the service principal's own token "
                "instead, which you sent to `/oauth2/token` as `client_secret`"
            )
        _not_wider(view, self.ends)
        if self.parent is not None:
            view.require_operation(self.name, {"parent": view.target(self.parent)})
        require_may_act_as(view, self.principal)
        for each in self.only or ():
            view.resource(each)
        _require_known_actions(view, self.actions or ())
        self._require_team(view)
        view.free_id(self.token)
        if self.ends is not None and self.ends <= view.now:
            raise InvalidError("the expiry of the token is in the past; choose a later one")
        parent = self.parent or _service(view, self.principal)
        issued = TokenIssued(self.token, self.principal, self.ends, self.only, self.actions, parent, self.acts_in)
        ended = self._end_replaced(view)
        return CommandEffect(
            (*ended.changes, issued),
            (
                *ended.documents,
                DocumentPut("token", self.token, token_document(self.principal, self.secret, self.label)),
            ),
        )

    def _require_team(self, view: CommandContext) -> None:
        team = None if self.acts_in is None else view.resource(self.acts_in)
        if team is not None and not view.is_member(self.principal, team):
            raise InvalidError(
                f"the principal of the token is not a member of the {team.type} `{team.name}`, so the token cannot act in it; choose "
                "a team of which the principal is a member, or create a token that acts in none"
            )

    def _end_replaced(self, view: CommandContext) -> CommandEffect:
        if self.replaces is None:
            return CommandEffect(())
        old = view.facts.tokens.get(self.replaces)
        if old is None or old.principal != self.principal:
            raise NotFoundError(
                f"the principal has no token `{self.replaces}` that the new token could replace; `headgate "
                "token list` shows its tokens"
            )
        return _build_revocation(self.replaces)


@dataclass(frozen=True, slots=True)
class RevokeToken:
    """Revoke a token at once."""

    token: TokenId
    name: str = "token.revoke"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Any principal may revoke its own tokens. For another's token require `token.delete` if it is a resource.

        Otherwise require the privileges for removing the principal.
        """
        token = view.facts.tokens.get(self.token)
        if token is None:
            raise NotFoundError(
                f"there is no token with the id `{self.token}`; `headgate token list` shows your tokens"
            )
        _no_run(view)
        if view.caller is None or view.caller.principal != token.principal:
            self._anothers(view, token.principal)
        elif view.caller.token != self.token:
            _not_narrowed(view, view.caller)
        return _build_revocation(self.token)

    def _anothers(self, view: CommandContext, principal: PrincipalId) -> None:
        if self.token in view.facts.resources:
            view.require_operation(self.name, {"token": view.facts.resources[ResourceId(self.token)]})
            return
        view.require_action("organization.manage_users", view.root)
        for role, place, _ in view.facts.assignments.get(principal, ()):
            if place == view.root:
                view.require_action("assignment.remove", place, role=role, subject=principal)


def _build_revocation(token: TokenId) -> CommandEffect:
    return CommandEffect((TokenRevoked(token),), tuple(token_erasures(token)))


def token_erasures(token: TokenId) -> Iterator[DocumentPut]:
    """Yield the writes that erase the documents of a revoked token."""
    yield DocumentPut("token", token, None)
    yield DocumentPut(LAST_USE, token, None)


def _require_known_actions(view: CommandContext, actions: Iterable[str]) -> None:
    for each in actions:
        if view.caller is not None and not is_known_action(each, view.models.values()):
            raise InvalidError(
                f"no access model has the action `{each}`, to which the token would be limited; `headgate model document` "
                "lists the actions of a model"
            )


def _no_run(view: CommandContext) -> None:
    if view.caller is not None and view.caller.run is not None:
        raise InvalidError("a run cannot issue or revoke tokens; use a token of a user or a service principal")


def _not_narrowed(view: CommandContext, caller: Caller) -> None:
    if is_narrowed(view.facts, caller):
        raise InvalidError(
            "a token that is limited to some resources or actions cannot issue or revoke tokens; use a "
            "token without that limit"
        )


def _not_wider(view: CommandContext, ends: float | None) -> None:
    """Raise `InvalidError` if the new token would last longer or allow more than the token of the caller.

    Otherwise a stolen token that expires tomorrow, or allows little, could be exchanged for one without these limits.
    """
    _no_run(view)
    if view.caller is None or view.caller.token is None:
        return
    _not_narrowed(view, view.caller)
    limit = view.facts.tokens[view.caller.token].ends
    if limit is not None and (ends is None or ends > limit):
        raise InvalidError(
            "your token expires earlier than the requested token; choose an expiry no later than that of your token, or "
            "send the request with a token that has no expiry"
        )


def require_may_act_as(view: CommandContext, principal: PrincipalId) -> None:
    """Require the privilege to act as a principal (impersonation): the caller itself, or another principal under conditions.

    A token acts as its principal, so issuing one is at least as much as assigning all roles that the principal holds: the
    caller must be able to assign each of them. For a service principal the model's `create_token` is enough; without that
    action, `edit` on it is needed too. For any other principal, `organization.manage_users` is needed too.
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
    return view.model_for(resource.type, resource.id).has_action(f"{resource.type}.{verb}")


def _service(view: CommandContext, principal: PrincipalId) -> ResourceId | None:
    """Return a service principal as the parent of its tokens, if the model puts tokens below service principals."""
    service = view.facts.resources.get(ResourceId(principal))
    model = model_for(view.models, view.facts, "token", service.id) if service else None
    return service.id if service and model and service.type in model.types["token"].parents else None
