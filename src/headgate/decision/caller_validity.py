"""Whether a caller may act at all: its principal is there, its token is valid and has not outlived its user, its run goes on."""

from headgate.decision.types import DenyReason
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import SUSPENDED, Snapshot


def caller_invalid(facts: Snapshot, caller: Caller, now: float) -> DenyReason | None:
    """Return why the caller cannot act in the organization, or None if it can. A team can be the caller: it can be a consumer.

    The suspension of the organization comes last: only callers that could act in it otherwise learn of it.
    """
    principal, team = facts.principals.get(caller.principal), facts.resources.get(ResourceId(caller.principal))
    if principal is None and (team is None or team.type not in ("team", "domain")):
        return DenyReason("no-principal")
    if principal is not None and _expired(principal.ends, now):
        return DenyReason("no-principal")
    if caller.token is not None:
        token = facts.tokens.get(caller.token)
        if token is None or token.principal != caller.principal or _expired(token.ends, now):
            return DenyReason("no-token")
    if caller.run is not None:
        run = facts.runs.get(caller.run)
        if run is None or run.run_as != caller.principal:
            return DenyReason("no-run")
    return DenyReason(SUSPENDED) if facts.is_suspended else None


def _expired(ends: float | None, now: float) -> bool:
    return ends is not None and ends <= now
