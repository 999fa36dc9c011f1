"""Narrowed callers: a token limited to resources or actions, or a run.

What belongs to the principal (assignments, tokens, requests, notifications) is shown to a narrowed caller as far as that
caller may discover what it names. Being the principal's own is no reason.
"""

from headgate.facts.caller import Caller
from headgate.facts.snapshot import Snapshot


def is_narrowed(facts: Snapshot, caller: Caller) -> bool:
    """Return whether the caller may do less than its principal."""
    token = facts.tokens.get(caller.token) if caller.token else None
    return caller.run is not None or (token is not None and (token.only, token.actions) != (None, None))


def replay_scope(facts: Snapshot, caller: Caller) -> str:
    """Return whose repeated requests get the answer of the first one: the principal's, or a narrowed caller's alone."""
    if not is_narrowed(facts, caller):
        return caller.principal
    return "\n".join((caller.principal, caller.token or "", caller.run or ""))
