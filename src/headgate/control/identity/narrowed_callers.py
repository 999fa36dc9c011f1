"""Narrowed callers: a token limited to resources or actions, or a run.

An assignment, token, request or notification of the principal is shown to a narrowed caller only if the caller may discover
the resources that it names. That it belongs to the caller's principal is not enough.
"""

from headgate.facts.caller import Caller
from headgate.facts.snapshot import Snapshot


def is_narrowed(facts: Snapshot, caller: Caller) -> bool:
    """Return whether the caller may do less than its principal."""
    token = facts.tokens.get(caller.token) if caller.token else None
    return caller.run is not None or (token is not None and (token.only, token.actions) != (None, None))


def replay_scope(facts: Snapshot, caller: Caller) -> str:
    """Return the scope of an idempotency key: that of the principal, or of a narrowed caller alone."""
    if not is_narrowed(facts, caller):
        return caller.principal
    return "\n".join((caller.principal, caller.token or "", caller.run or ""))
