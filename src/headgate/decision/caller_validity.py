"""Validity of callers: the principal exists and has not expired, its token is valid, and its run has not finished."""

from headgate.decision.types import DenyReason
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import SUSPENDED, Resource, Snapshot

_TEAMS = ("team", "domain")
"""The types whose resources may be asked about as subjects, also without a role."""


def may_be_subject(facts: Snapshot, resource: Resource) -> bool:
    """Whether questions may be about the resource as a subject: it is a team, or it was assigned a role."""
    return resource.type in _TEAMS or resource.id in facts.assignments


def caller_invalid(facts: Snapshot, caller: Caller, now: float) -> DenyReason | None:
    """Return why the caller is invalid in the organization, or None.

    A team may be the caller, as it can be a consumer; and any other resource that has a role, such as one of an own type.

    The suspension of the organization is checked last, so that only otherwise valid callers learn of it.
    """
    principal, team = facts.principals.get(caller.principal), facts.resources.get(ResourceId(caller.principal))
    if principal is None and (team is None or not may_be_subject(facts, team)):
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
