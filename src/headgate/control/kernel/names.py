"""Names of resources: which names are valid, and the resource that a full name means.

For a hidden or missing name the check runs against a hypothetical resource at that path, so that a refusal does not
reveal which names exist.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headgate.control.text.confusables import describe_letter_fault, describe_likeness_fault, is_word_character
from headgate.decision.evaluator import Answers
from headgate.facts.changes import ResourceCreated
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import NO_NAMES, Resource, Snapshot

LONGEST = 255

TYPES = ("lake", "database", "table")
"""The resource types of the parts of a full name."""


@dataclass(frozen=True, slots=True)
class HypotheticalResource:
    """A hypothetical resource: added to the facts for one question; with the answers on it and its nearest existing ancestor."""

    answers: Answers
    resource: Resource
    above: ResourceId


def find_by_name(facts: Snapshot, names: Sequence[str]) -> Resource | None:
    """Return the lake, database or table of this full name (lake first), or another resource with a name of one part."""
    if not 1 <= len(names) <= len(TYPES):
        return None
    if len(names) == 1:
        return facts.find(names)
    found = [facts.find(names[:depth]) for depth in range(1, len(names) + 1)]
    # A volume in the database is not a table, even if it has the table's name.
    return found[-1] if all(each and each.type == type for each, type in zip(found, TYPES, strict=False)) else None


def suppose(answers: Answers, names: Sequence[str]) -> HypotheticalResource | None:
    """Return a hypothetical database or table with a full name, whether or not a resource has the name.

    None if the lake does not exist, or if the name has more parts than a table's.
    """
    lake = answers.facts.find(names[:1])
    if lake is None or lake.type != TYPES[0] or not 1 < len(names) <= len(TYPES):
        return None
    above = parent = lake.id
    for depth in range(2, len(names) + 1):
        there = find_by_name(answers.facts, names[:depth])
        if there is not None and depth < len(names):
            above = parent = there.id
        else:
            answers, parent = _with(answers, names[:depth], parent)
    return HypotheticalResource(answers, answers.facts.resources[parent], above)


def list_descendants(facts: Snapshot, above: ResourceId, type: str) -> Iterator[ResourceId]:
    """Yield every resource of a type below a resource."""
    for child in facts.children.get(above, NO_NAMES).values():
        if facts.resources[child].type == type:
            yield child
        yield from list_descendants(facts, child, type)


def is_valid_name(name: str) -> bool:
    """Return whether this can be the name of a resource: letters with their marks, digits, `_` and `-`."""
    return 0 < len(name) <= LONGEST and all(is_word_character(sign) or sign in "_-" for sign in name)


def describe_new_name_fault(name: str) -> str | None:
    """Return why a resource may not get this name, and which names are valid; None if it may.

    Stricter than `is_valid_name`, which is for existing names.
    """
    if not is_valid_name(name):
        return f"a name must have 1 to {LONGEST} letters, digits, `_` and `-`"
    return describe_letter_fault(name) or describe_likeness_fault(name)


def _with(answers: Answers, names: Sequence[str], parent: ResourceId) -> tuple[Answers, ResourceId]:
    id = ResourceId(f"?{'.'.join(names)}")
    added = (ResourceCreated(id, TYPES[len(names) - 1], parent, names[-1]),)
    return answers.advance(added, fold(answers.facts, added, answers.facts.revision)), id
