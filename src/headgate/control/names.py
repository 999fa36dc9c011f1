"""What a name can be, and from a name to a resource in a way that does not tell whether it exists.

What is asked about a name that does not exist is answered for a resource that would lie there, so that a
refusal for a hidden name and for a missing one are the same.
"""

from collections.abc import Sequence

from headgate.facts.changes import ResourceCreated
from headgate.facts.fold import apply
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot

LONGEST = 255

_TYPES = ("lake", "database", "table")


def located(facts: Snapshot, names: Sequence[str]) -> tuple[Snapshot, ResourceId] | None:
    """Return the resource of a full name (lake first) and the facts to ask on.

    Where there is none, the facts have one added for the question. None if there is not even such a lake, or if the
    name has more parts than a table's.
    """
    if not 1 <= len(names) <= len(_TYPES):
        return None
    first = facts.find(names[:1])
    if first is None or (len(names) > 1 and first.type != "lake"):
        return None
    parent = first.id
    for depth in range(2, len(names) + 1):
        there = facts.find(names[:depth])
        if there is None or there.type != _TYPES[depth - 1]:  # a volume is no table of that name
            id = ResourceId(f"?{'.'.join(names[:depth])}")
            facts = apply(facts, ResourceCreated(id, _TYPES[depth - 1], parent, names[depth - 1]))
            parent = id
        else:
            parent = there.id
    return facts, parent


def usable(name: str) -> bool:
    """Return whether this can be the name of a resource: letters, digits, `_` and `-`, as in every engine."""
    return 0 < len(name) <= LONGEST and all(sign.isalnum() or sign in "_-" for sign in name)
