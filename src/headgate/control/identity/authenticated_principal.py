"""The principal that a secret authenticates, and the organizations in which the secret is valid."""

from dataclasses import dataclass

from headgate.facts.ids import PrincipalId, ResourceId, RunId, TokenId


@dataclass(frozen=True, slots=True)
class AuthenticatedPrincipal:
    """Who presents a secret. `organization` is the only one where it is good; None for a login, which is good in all."""

    principal: PrincipalId
    organization: ResourceId | None
    token: TokenId | None = None
    run: RunId | None = None
    is_access_token: bool = False
    """Whether the secret is good for a short time, by way of the token."""
