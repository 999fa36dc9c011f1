"""What a name can be, and from a name to a resource in a way that does not tell whether it exists.

What is asked about a name that does not exist is answered for a resource that would lie there, so that a
refusal for a hidden name and for a missing one are the same.
"""

from collections.abc import Sequence

from headgate.decision.answers import Answers
from headgate.facts.changes import ResourceCreated
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId

LONGEST = 255

_TYPES = ("lake", "database", "table")


def located(answers: Answers, names: Sequence[str]) -> tuple[Answers, ResourceId] | None:
    """Return the resource of a full name (lake first) and what answers about it.

    Where there is none, it answers as if there were. None if there is not even such a lake, or if the name has more
    parts than a table's.
    """
    facts = answers.facts
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
            added = (ResourceCreated(id, _TYPES[depth - 1], parent, names[depth - 1]),)
            facts = fold(facts, added, facts.revision)
            answers, parent = answers.advance(added, facts), id
        else:
            parent = there.id
    return answers, parent


def usable(name: str) -> bool:
    """Return whether this can be the name of a resource: letters, digits, `_` and `-`, as in every engine."""
    return 0 < len(name) <= LONGEST and all(sign.isalnum() or sign in "_-" for sign in name)
