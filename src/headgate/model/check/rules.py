"""Checks of the rules: roles, types and kinds of subject that a rule combines must be possible together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from headgate.model.check.context import CheckContext, Path, either_of
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.model import Model, RequiredRole
from headgate.model.parse_rules import SUBJECT_KINDS
from headgate.model.role_reach import RoleReach, Types

_SECTIONS_OF_RULES = ("spread", "named_in", "assign", "standing", "creators", "bridges")


def check_repeated(checking: CheckContext) -> None:
    """Report rules that occur twice in a section."""
    for section in _SECTIONS_OF_RULES:
        rules: Sequence[object] = getattr(checking.model, section)
        for index, rule in enumerate(rules):
            if rule in rules[:index]:
                checking.note(DiagnosticCode.RULE_TWICE, (section, index))
    for action, alternatives in checking.model.needs.items():
        for index, alternative in enumerate(alternatives):
            if alternative in alternatives[:index]:
                checking.note(DiagnosticCode.RULE_TWICE, ("needs", action, index))


def check_places(checking: CheckContext) -> None:
    """Report rules about assignments whose roles cannot be assigned on the types of the rule."""
    model = checking.model
    for index, rule in enumerate(model.spread):
        _check_product(checking, ("spread", index), "from", rule.roles, rule.origin)
    for index, row in enumerate(model.assign):
        custom = row.on & model.custom_roles.on if row.custom and model.custom_roles else Types()
        if row.custom and not custom:
            checking.note(DiagnosticCode.NO_CUSTOM, ("assign", index, "custom"))
        else:
            _check_product(checking, ("assign", index), "on", row.roles, row.on, custom)
    for path, role, types in _list_role_mentions(model, checking.reach):
        _check_there(checking, path, role, types)


def check_members(checking: CheckContext) -> None:
    """Report types in `members` that would have no members, and roles in it that cannot be assigned on the type."""
    assigned = checking.reach.assigned
    for type, counting in checking.model.members.items():
        if not any(type in assigned[role] for role in assigned if counting is None or role in counting):
            checking.note(DiagnosticCode.TYPE_WITHOUT_ROLE, ("members", type), what="role", type=type)
        for role in counting or ():
            if checking.is_written("members", type, role):
                _check_there(checking, ("members", type, role), role, (type,))


def check_same(checking: CheckContext) -> None:
    """Report assign rules in which no subject can be below the same resource as the resource of the assignment."""
    above = checking.reach.above
    for index, rule in enumerate(checking.model.assign):
        for key, types in (("on", rule.on), ("to", rule.to)) if rule.same else ():
            if not any(rule.same in above[type] | {type} for type in types if type in above):
                words = {"type": rule.same or "", "types": either_of(types)}
                checking.note(DiagnosticCode.SAME_NEVER, ("assign", index, "same"), "", key, **words)


def _list_role_mentions(model: Model, reach: RoleReach) -> Iterator[tuple[Path, str, Types]]:
    """Yield each mention of one role alone: its path, the role, and the types on which it must be assignable."""
    for index, standing in enumerate(model.standing):
        yield from ((("standing", index, "roles", role), role, Types((standing.on,))) for role in standing.roles)
    for index, creator in enumerate(model.creators):
        yield from ((("creators", index, "types", type), creator.role, Types((type,))) for type in creator.types)
        if creator.future:
            above = Types().union(*(reach.above[type] for type in creator.types if type in reach.above))
            yield ("creators", index, "future"), creator.future, above
    if model.newcomer:
        yield ("newcomer",), model.newcomer, Types(("organization",))
    for scope, roles in model.scopes.items():
        yield from ((("scopes", scope, type), role, Types((type,))) for type, role in roles.items())
    if custom := model.custom_roles:
        yield from ((("custom_roles", "replaces", role), role, custom.on) for role in custom.replaces)


def check_kinds(checking: CheckContext) -> None:
    """Report roles and kinds of subject of a rule that do not fit: the roles cannot be assigned to these kinds."""
    model, custom = checking.model, checking.model.custom_roles
    for index, rule in enumerate(model.assign):
        taken = [model.roles[role].to for role in rule.roles]
        for role in rule.roles:
            _check_to(checking, ("assign", index, "roles", role), role, rule.to)
        left = rule.to.difference(*taken, custom.to if rule.custom and custom else ())
        for kind in left if not rule.to >= frozenset(SUBJECT_KINDS) and all(to & rule.to for to in taken) else ():
            checking.note(DiagnosticCode.KIND_WITHOUT_ROLE, ("assign", index, "to", kind), kind=kind)
    if model.newcomer:
        _check_to(checking, ("newcomer",), model.newcomer, ("user",))
    for scope, roles in model.scopes.items():
        for type, role in roles.items():
            _check_to(checking, ("scopes", scope, type), role, ("service_principal",))


def check_spread(checking: CheckContext) -> None:
    """Report rules of `spread` that reach no type, or not the types in their `to`."""
    reach = checking.reach
    for index, rule in enumerate(checking.model.spread):
        everywhere = reach.targets(replace(rule, to=None), rule.origin)
        origins = either_of(rule.origin)
        if rule.up is not None and not everywhere:
            checking.note(DiagnosticCode.UP_NOT_ABOVE, ("spread", index, "up"), up=rule.up, origins=origins)
        elif not everywhere:
            checking.note(DiagnosticCode.NOTHING_BELOW, ("spread", index, "from"), origins=origins)
        else:
            for type in (rule.to or Types()) - everywhere:
                checking.note(DiagnosticCode.NOT_BELOW, ("spread", index, "to", type), type=type, origins=origins)


def check_derived(checking: CheckContext) -> None:
    """Report derived types on which roles can be assigned: an assignment would exceed the weakest resource."""
    for name, types in checking.reach.assigned.items():
        for type in types & checking.model.derived.keys():
            checking.note(DiagnosticCode.DERIVED_ASSIGNED, ("roles", name, "on", type), "", type, role=name, type=type)


def check_needs(checking: CheckContext) -> None:
    """Report roles required where they can never be held, and alternatives that require nothing if no resource is named."""
    for action, alternatives in checking.model.needs.items():
        for index, alternative in enumerate(alternatives):
            for needed in alternative.roles:
                _check_needed(checking, ("needs", action, index, "roles"), (action.partition(".")[0],), needed)
            if not (alternative.when or alternative.each) and all(needed.optional for needed in alternative.roles):
                _check_anybody(checking, action, index)
    for index, rule in enumerate(checking.model.assign):
        for needed in rule.needs:
            _check_needed(checking, ("assign", index, "needs"), rule.on, needed)


def check_holders(checking: CheckContext) -> None:
    """Report assign rules whose holder roles can never be held on their types, or on the subject."""
    model, held = checking.model, checking.reach.held
    for index, rule in enumerate(model.assign):
        never = [role for role in rule.holder if not held[role] & rule.on]
        for role in never:
            path: Path = ("assign", index, "holder", role)
            checking.note(DiagnosticCode.HOLDER_NEVER, path, role=role, places=either_of(rule.on))
        for type in rule.on if rule.holder and not never else ():
            if not any(type in held[role] for role in rule.holder):
                checking.note(DiagnosticCode.TYPE_WITHOUT_HOLDER, ("assign", index, "on", type), type=type)
        for role in rule.on_subject:
            if not held[role] & rule.to:
                path = ("assign", index, "on_subject", role)
                checking.note(DiagnosticCode.HOLDER_NEVER, path, role=role, places=either_of(rule.to))


def _check_product(
    checking: CheckContext, path: Path, key: str, roles: Types, types: Types, custom: Types = frozenset()
) -> None:
    """Check a rule with roles and types: each role must fit one of the types and each type one role, not every pair."""
    lost = [role for role in roles if not checking.reach.assigned[role] & types]
    if len(lost) == len(roles) > 1:
        lost = []  # several roles and none fits: the types are wrong
    for role in lost:
        _check_there(checking, (*path, "roles", role), role, types)
    for type in () if lost else types - custom:
        if not any(type in checking.reach.assigned[role] for role in roles):
            checking.note(DiagnosticCode.TYPE_WITHOUT_ROLE, (*path, key, type), what="role of the rule", type=type)


def _check_there(checking: CheckContext, path: Path, role: str, types: Iterable[str]) -> None:
    if not checking.reach.assigned[role] & set(types):
        checking.note(DiagnosticCode.ROLE_NOT_THERE, path, "", role, role=role, types=either_of(types))


def _check_to(checking: CheckContext, path: Path, role: str, kinds: Iterable[str]) -> None:
    if not checking.model.roles[role].to & set(kinds):
        checking.note(DiagnosticCode.ROLE_NOT_TO, path, "", role, role=role, kinds=either_of(kinds))


def _check_needed(checking: CheckContext, path: Path, types: Iterable[str], needed: RequiredRole) -> None:
    if needed.relation is not None:
        return  # a relation may name resources of any type
    above = {parent for type in types for parent in checking.model.types[type].parents}
    places = set(types) if needed.root == "self" else above
    if not checking.reach.held[needed.role] & places:
        place = f"{'each ' if needed.optional else ''}{needed.root}"
        where = either_of(places) or "any parent"
        checking.note(DiagnosticCode.PLACE_WITHOUT_ROLE, (*path, place, needed.role), role=needed.role, places=where)


def _check_anybody(checking: CheckContext, action: str, index: int) -> None:
    if not checking.model.roles_granting(action):
        checking.note(DiagnosticCode.ANYBODY, ("needs", action, index), action=action)
