"""Name resolution: from the text by which a user names a resource to the resources that it can mean.

A text is the id of a resource, `organization`, or a full name: the names from below a project, or from below the
organization, joined by dots (`lake.raw.flights`, `sales.orders`). Every endpoint and the command line resolve texts here; which
of the candidates a caller may see, each decides by the engine.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import NO_NAMES, Snapshot

ORGANIZATION_NAME: Final = "organization"
"""The name of the organization itself."""


def list_candidates(facts: Snapshot, name: str) -> Iterator[ResourceId]:
    """Yield the resources of this id or name: first the one of the id, then those below the projects, then below the root."""
    if ResourceId(name) in facts.resources:
        yield ResourceId(name)
    root = facts.organization
    if root is None:
        return
    if name == ORGANIZATION_NAME:
        yield root
    parts = name.split(".")
    inside = facts.children.get(root, NO_NAMES).values()
    projects = (child for child in inside if facts.resources[child].type == "project")
    yield from (found for top in (*projects, root) if (found := _find_below(facts, top, parts)) is not None)


def find_typed(facts: Snapshot, name: str, type: str) -> ResourceId | None:
    """Return the first resource of this id or name that has the type, whether a caller may see it or not; None without one."""
    return next((each for each in list_candidates(facts, name) if facts.resources[each].type == type), None)


def _find_below(facts: Snapshot, top: ResourceId, parts: Sequence[str]) -> ResourceId | None:
    current: ResourceId | None = top
    for part in parts:
        current = facts.children.get(current, NO_NAMES).get(part) if current is not None else None
    return current
