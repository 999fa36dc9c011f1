"""Who is asking: a principal, and what narrows it for this call."""

from dataclasses import dataclass

from headgate.facts.ids import PrincipalId, RunId, TokenId


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal that acts through a token, as a run, or by itself.

    A token never does what its principal could not do now; a run does what its pipeline declares and
    its principal (the run-as) may do, and nothing else.
    """

    principal: PrincipalId
    token: TokenId | None = None
    run: RunId | None = None
