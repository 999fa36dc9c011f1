"""The caller: a principal, and the token or run that restricts it for one call."""

from dataclasses import dataclass

from headgate.facts.ids import PrincipalId, RunId, TokenId


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal that acts through a token, as a run, or by itself.

    A token never allows anything that its principal may not do now. A run may do only what its pipeline declares and
    its principal (the run-as) may do.
    """

    principal: PrincipalId
    token: TokenId | None = None
    run: RunId | None = None
