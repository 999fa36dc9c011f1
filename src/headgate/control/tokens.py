"""Tokens: secrets that act as their principal. A secret is shown once and kept as a hash."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.control.command import InvalidError, MissingError, Plan, View
from headgate.control.ports import DocumentPut
from headgate.decision.records import Question
from headgate.facts.changes import TokenIssued, TokenRevoked
from headgate.facts.ids import PrincipalId, TokenId

_PREFIX = "hgt"


def written(token: TokenId, secret: str) -> str:
    """Return the token as its holder writes it."""
    return f"{_PREFIX}.{token}.{secret}"


def read(text: str) -> tuple[TokenId, str] | None:
    """Return id and secret of a token as written, or None if it is not one."""
    parts = text.split(".")
    if len(parts) != 3 or parts[0] != _PREFIX or not all(parts):  # noqa: PLR2004 (prefix, id, secret)
        return None
    return TokenId(parts[1]), parts[2]


def matches(document: Mapping[str, Any], secret: str) -> bool:
    """Say whether the secret is the one that the token's document keeps the hash of."""
    return hmac.compare_digest(str(document.get("hash", "")), _hash(secret))


def _hash(secret: str) -> str:
    # A secret is 256 random bits, so that a plain hash is enough: there is nothing to guess.
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class IssueToken:
    """A new token for a principal. `ends` in seconds since the epoch."""

    token: TokenId
    secret: str
    principal: PrincipalId
    label: str = ""
    ends: float | None = None
    name: str = "token.issue"

    def plan(self, view: View) -> Plan:
        """Everybody for themselves; for somebody else whoever may give them every role they hold on the organization."""
        view.known_principal(self.principal)
        view.free_id(self.token)
        if self.ends is not None and self.ends <= view.now:
            raise InvalidError("the token would have ended already")
        _of(view, self.principal)
        self._no_longer_than_the_callers(view)
        document = {"hash": _hash(self.secret), "label": self.label, "principal": self.principal}
        return Plan(
            (TokenIssued(self.token, self.principal, self.ends),), (DocumentPut("token", self.token, document),)
        )

    def _no_longer_than_the_callers(self, view: View) -> None:
        # Or whoever finds a token that ends tomorrow makes it one that never ends.
        if view.caller is None or view.caller.token is None:
            return
        limit = view.facts.tokens[view.caller.token].ends
        if limit is not None and (self.ends is None or self.ends > limit):
            raise InvalidError("a token that ends can only make tokens that end no later; use one without an end")


@dataclass(frozen=True, slots=True)
class RevokeToken:
    """The token is dead from now on."""

    token: TokenId
    name: str = "token.revoke"

    def plan(self, view: View) -> Plan:
        """Everybody their own; another's with `organization.manage_users`."""
        token = view.facts.tokens.get(self.token)
        if token is None:
            raise MissingError(f"there is no token `{self.token}`")
        _of(view, token.principal)
        return Plan((TokenRevoked(self.token),), (DocumentPut("token", self.token, None),))


def _of(view: View, principal: PrincipalId) -> None:
    if view.caller is None:
        return
    if view.caller.run is not None:
        raise InvalidError("a run has the rights of its run and cannot make or end tokens")
    if view.caller.principal == principal:
        return
    view.require_action("organization.manage_users", view.root)
    # A token acts as its principal, so making one for somebody is at least as much as giving their roles.
    for role, place, _ in view.facts.assignments.get(principal, ()):
        if place == view.root:
            view.require(Question(view.caller, "assignment.add", place, role=role, subject=principal))
