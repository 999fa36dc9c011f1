"""Caller resolution: from the secret of a request to the organization that the request addresses and the caller in it.

Every endpoint that takes a token or a session resolves it here: the HTTP API, AuthZEN, the Iceberg REST catalog and the Spark
gateway.
"""

from dataclasses import dataclass
from typing import NamedTuple

from headgate.control.authentication.authenticator import Authenticator
from headgate.control.organizations.organization import Organization, Organizations
from headgate.facts.caller import Caller


class ResolvedCaller(NamedTuple):
    """A caller, and the organization in which it acts."""

    organization: Organization
    caller: Caller


class UnknownCallerError(Exception):
    """A secret has no caller in the organization that the request addresses.

    `addressed` is that organization, for the audit; None if the secret is unknown or there is no such organization. Only
    if `is_suspended`, the caller would be known without the suspension of the organization, and may learn of it.
    """

    def __init__(self, addressed: Organization | None = None, *, is_suspended: bool = False) -> None:
        super().__init__("the token or session is unknown, expired or revoked; log in again, or use another token")
        self.addressed = addressed
        self.is_suspended = is_suspended


@dataclass(frozen=True, slots=True)
class CallerResolver:
    """Resolves secrets to callers."""

    identity: Authenticator
    organizations: Organizations

    def resolve(self, secret: str, named: str | None) -> ResolvedCaller:
        """Return the caller of a secret in the organization that a request addresses, by its name or id if it is `named`.

        May wait for the store. Raises `UnknownCallerError`, and `SeveralOrganizationsError` if the caller has to name an
        organization.
        """
        presented = self.identity.authenticate(secret)
        if presented is None:
            raise UnknownCallerError
        organization = self.organizations.resolve_addressed(presented, named)
        if organization is None:
            raise UnknownCallerError
        caller = organization.caller(presented)
        if caller is None:
            raise UnknownCallerError(organization, is_suspended=organization.is_suspended_for(presented))
        return ResolvedCaller(organization, caller)

    def resolve_cached(self, secret: str, named: str | None) -> ResolvedCaller | None:
        """Return the same for a token or a run if nothing has to be looked up for that, otherwise None. Never waits."""
        presented = self.identity.cached(secret)
        if presented is None or presented.organization is None or named not in (None, presented.organization):
            return None
        organization = self.organizations.if_open(presented.organization)
        caller = organization.caller(presented) if organization else None
        return None if organization is None or caller is None else ResolvedCaller(organization, caller)
