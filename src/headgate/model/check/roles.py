"""Checks of the roles: what they include, whether they can be held, and whether a stronger one lacks anything."""

from headgate.model.check.context import CheckContext, Path, either_of
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.model import MembershipRequirement, PropagationRule, Role
from headgate.model.role_reach import Types

_ONE = "one"
"""All are reported as one mistake, because they have one cause: a missing rule."""


def check_includes(checking: CheckContext) -> None:
    """Report roles that include themselves."""
    roles = checking.model.roles
    ring: set[str] = set()
    for name, role in roles.items():
        back = [other for other in sorted(role.closure - ring) if name in roles[other].closure]
        direct = next((other for other in back if checking.is_written("roles", name, "includes", other)), None)
        if direct is not None:
            ring.update(back)
            checking.note(DiagnosticCode.INCLUDES_ITSELF, ("roles", name, "includes", direct), role=name)


def check_held(checking: CheckContext) -> None:
    """Report roles that no subject can hold, and actions that a role gives on types where it can never be held."""
    for name in _unreachable(checking):
        checking.note(DiagnosticCode.UNREACHABLE, ("roles", name), role=name)
    roles, held = checking.model.roles, checking.reach.held
    vain = {
        name: {action.partition(".")[0] for action in role.own} - held[name] if held[name] else set[str]()
        for name, role in roles.items()
    }
    for name, role in roles.items():
        # Where an included role is not held, neither is this role: the included one is the cause.
        for type in sorted(vain[name].difference(*(vain[each] for each in role.closure - {name}))):
            checking.note(
                DiagnosticCode.GIVEN_IN_VAIN, ("roles", name, "actions", type), "", _ONE, role=name, type=type
            )


def check_single(checking: CheckContext) -> None:
    """Report roles with a single holder that a rule assigns to several subjects: to newcomers, owners or consumers."""
    model = checking.model
    given: list[tuple[Path, str]] = [(("newcomer",), model.newcomer)] if model.newcomer else []
    given += [(("scopes", scope, type), role) for scope, roles in model.scopes.items() for type, role in roles.items()]
    given += [(("bridges", index, "role"), bridge.role) for index, bridge in enumerate(model.bridges)]
    given += [
        (("creators", index, "role"), rule.role)
        for index, rule in enumerate(model.creators)
        if "organization" in rule.types
    ]
    given += [(("custom_roles", "of", role), role) for role in (model.custom_roles.of if model.custom_roles else ())]
    for path, name in given:
        if model.roles[name].single:
            checking.note(DiagnosticCode.SINGLE_FOR_MANY, path, role=name)


def check_role_count(checking: CheckContext) -> None:
    """Report roles that lack something although they include a role that has it."""
    roles, assigned = checking.model.roles, checking.reach.assigned
    for role in roles.values():
        for name in sorted(role.closure - {role.name}):
            common = assigned[role.name] & assigned[name]
            if common:
                _check_pair(checking, role, roles[name], common)


def _unreachable(checking: CheckContext) -> list[str]:
    """Return the roles that no subject can hold, except those that only others of these roles would give."""
    model = checking.model
    lost = {name for name, types in checking.reach.held.items() if not types}
    given = {name: {other.name for other in model.roles.values() if name in other.closure} - {name} for name in lost}
    for rule in model.spread:
        if rule.role in lost:
            given[rule.role] |= rule.roles - {rule.role}
    return [name for name in lost if not given[name] & lost]


def _check_pair(checking: CheckContext, stronger: Role, weaker: Role, common: Types) -> None:
    def note(path: Path, about: Role, what: str, fix: str) -> None:
        checking.note(DiagnosticCode.LOSES, path, fix, about.name, role=stronger.name, other=weaker.name, what=what)

    if not set(stronger.when) <= set(weaker.when) and stronger.on & weaker.on:
        what = f"its `when` has a condition that `{weaker.name}` does not have"
        note(("roles", stronger.name, "when"), weaker, what, f"remove the condition, or add it to `{weaker.name}`")
    for index, rule in enumerate(checking.model.spread):
        for origin in sorted(common & rule.origin if weaker.name in rule.roles else ()):
            lost = _not_reached(checking, stronger.name, rule, rule.role or weaker.name, origin)
            if lost:
                note(
                    ("spread", index, "roles"),
                    stronger,
                    f"does not spread from `{origin}` to {either_of(lost)} as `{weaker.name}` does",
                    f"add `{stronger.name}` to the `roles` of this rule",
                )
    for index, standing in enumerate(checking.model.standing):
        if key := _standing_list_without(standing, stronger, weaker):
            note(
                ("standing", index, key),
                stronger,
                f"is missing from the `{key}` of a `standing` rule that has `{weaker.name}`",
                f"add `{stronger.name}` to that list",
            )


def _not_reached(checking: CheckContext, role: str, rule: PropagationRule, spread_as: str, origin: str) -> Types:
    model, reach = checking.model, checking.reach
    covered = Types().union(
        *(
            reach.targets(each, (origin,))
            for each in model.spread
            if role in each.roles and origin in each.origin and spread_as in model.roles[each.role or role].closure
        )
    )
    return reach.targets(rule, (origin,)) - covered


def _standing_list_without(standing: MembershipRequirement, stronger: Role, weaker: Role) -> str:
    """Return the key of the rule whose list has the weaker role and not the stronger one; empty if there is none."""
    if weaker.name in standing.roles and stronger.name not in standing.roles and standing.on in stronger.on:
        return "roles"
    return "exempt" if weaker.name in standing.exempt and stronger.name not in standing.exempt else ""
