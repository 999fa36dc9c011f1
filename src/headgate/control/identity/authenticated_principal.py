"""The principal that a secret authenticates, and the organizations in which the secret is valid."""

from dataclasses import dataclass

from headgate.facts.ids import PrincipalId, ResourceId, RunId, TokenId


@dataclass(frozen=True, slots=True)
class AuthenticatedPrincipal:
    """The principal of a secret. `organization` is the only one where the secret is valid; None for a login, valid in all."""

    principal: PrincipalId
    organization: ResourceId | None
    token: TokenId | None = None
    run: RunId | None = None
    is_access_token: bool = False
    """Whether the secret is a short-lived access token, issued for `token`."""
