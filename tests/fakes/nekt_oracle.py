"""A second implementation of Nekt's rules, as MODELS 1.2 to 1.5 state them: slow, obvious, and only for tests."""

from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Resource, Snapshot
from tests.fakes.small_organization import NEKT, NOW

LEVELS = ("none", "viewer", "editor", "manager")
_DATA = ("database", "table", "volume")


def organization_roles(facts: Snapshot, principal: PrincipalId) -> set[str]:
    """Return which of owner, admin and member the principal holds; groups cannot hold them."""
    return {
        role for role in ("owner", "admin", "member") if _has(facts, [principal, *facts.groups_of(principal)], role)
    }


def level(facts: Snapshot, principal: PrincipalId, resource: Resource) -> int:
    """Return the level on data or on a pipeline, as an index into `LEVELS`."""
    roles = organization_roles(facts, principal)
    if not roles:
        return 0
    if roles & {"owner", "admin"}:
        return LEVELS.index("manager")
    if resource.type in _DATA:
        return _on_data(facts, principal, resource)
    touched = [edge.target for name in _counting(resource) for edge in resource.relations.get(name, ()) if edge.enabled]
    touched = touched or [edge.target for edge in resource.relations.get("output_layers", ())]
    return min((_on_target(facts, principal, id) for id in touched), default=0)


def _counting(pipeline: Resource) -> tuple[str, ...]:
    return ("outputs",) if pipeline.type == "source" else ("inputs", "outputs")


def _on_target(facts: Snapshot, principal: PrincipalId, id: ResourceId) -> int:
    resource = facts.resources.get(id)
    return _on_data(facts, principal, resource) if resource and resource.type in _DATA else 0


def _on_data(facts: Snapshot, principal: PrincipalId, resource: Resource) -> int:
    subjects = [principal, *facts.groups_of(principal)]
    direct = _given(facts, subjects, resource.id)
    if resource.type != "database":
        return max(direct, _given(facts, subjects, resource.parent))
    children = facts.children[resource.id].values()
    return max(direct, *(min(1, _given(facts, subjects, child)) for child in children), 0)


def _given(facts: Snapshot, subjects: list[SubjectId], place: ResourceId) -> int:
    return max((LEVELS.index(role) for role in LEVELS[1:] if _has(facts, subjects, role, place)), default=0)


def _has(facts: Snapshot, subjects: list[SubjectId], role: str, place: ResourceId | None = None) -> bool:
    return any(
        given.role == role
        and given.model == NEKT.name
        and given.resource == (place or facts.organization)
        and (given.ends is None or given.ends > NOW)
        for subject in subjects
        for given in facts.assignments.get(subject, {}).values()
    )
