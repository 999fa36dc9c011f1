"""Four eyes: the user that filed a change cannot approve it, where the model says `not author`."""

from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


def is_author(facts: Snapshot, caller: Caller, filed: ResourceId) -> bool:
    """Whether the caller filed this change request or agreement."""
    found = facts.change_requests.get(filed) or facts.agreements.get(filed)
    return found is not None and found.author == caller.principal
