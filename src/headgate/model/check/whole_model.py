"""Checks of the whole model: actions that no caller can perform, and privilege escalation."""

from collections.abc import Sequence

from headgate.model.check.context import CheckContext, either_of
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.model import OperationNeed, is_fixed_verb
from headgate.model.role_reach import Types
from headgate.model.vocabulary import ASSIGNMENT

_SHOWN = 5
"""The largest number of actions that a message lists."""


def check_assignable(checking: CheckContext) -> None:
    """Report roles that may be assigned on a type, but that no rule lets a caller assign there."""
    model = checking.model
    lost = {name: role.on - _list_types_given_on(checking, name) for name, role in model.roles.items()}
    for types in dict.fromkeys(types for types in lost.values() if types):
        names = [name for name in lost if lost[name] == types]
        path = ("roles", names[0], "on")
        checking.note(DiagnosticCode.NOBODY_ASSIGNS, path, what=either_of(names), types=either_of(types))
    if model.custom_roles and not any(rule.custom for rule in model.assign):
        types = either_of(model.custom_roles.on)
        checking.note(DiagnosticCode.NOBODY_ASSIGNS, ("custom_roles",), what="custom roles", types=types)


def check_actions(checking: CheckContext) -> None:
    """Report actions for which the vocabulary has the model's name, but the model no role and no requirement."""
    model, known = checking.model, checking.vocabulary
    done = frozenset[str](model.needs).union(*(role.own for role in model.roles.values()))
    lost = [name for name, action in known.items() if action.names.get(model.name) and name not in done]
    lost = [name for name in lost if name.partition(".")[0] != ASSIGNMENT]
    if lost:
        more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
        checking.note(DiagnosticCode.NO_ROW, ("roles",), actions=f"{either_of(lost[:_SHOWN])}{more}")


def check_operations(checking: CheckContext) -> None:
    """Report restated needs of operations that no caller can meet, because neither a role nor `needs` has the action.

    On a resource of any type, a type counts on which the model lets callers do what Headgate's own table needs.
    """
    for operation, needs in checking.model.operations.items():
        own = checking.vocabulary.operations[operation]
        for index, need in enumerate(needs):
            lost = _list_unmet(checking, need, own)
            if lost:
                path, actions = ("operations", operation, index, "verb"), either_of(lost[:_SHOWN])
                checking.note(DiagnosticCode.OPERATION_NEVER, path, actions=actions, operation=operation)


def _list_unmet(checking: CheckContext, need: OperationNeed, own: Sequence[OperationNeed]) -> list[str]:
    """Return an action of the need for each type on which no caller can do it."""
    if any(map(is_fixed_verb, need.verbs)):
        return []
    every = (need.place,) if need.place in checking.vocabulary.types else tuple(checking.model.types)
    able = {type for type in every if _may_do(checking, type, need.verbs)}
    if not able:
        return [f"{need.place}.{need.verbs[0]}"]
    usual = [each.verbs for each in own if each.place == need.place and not any(map(is_fixed_verb, each.verbs))]
    expected = [type for type in every if all(_may_do(checking, type, verbs) for verbs in usual)]
    return [f"{type}.{need.verbs[0]}" for type in expected if type not in able]


def _may_do(checking: CheckContext, type: str, verbs: Sequence[str]) -> bool:
    return any(checking.model.has_action(f"{type}.{verb}") for verb in verbs)


def check_discover(checking: CheckContext) -> None:
    """Report types that would be hidden from every caller, as no caller can perform the `discover` action."""
    model = checking.model
    for type in model.types if model.discover else ():
        if f"{type}.{model.discover}" not in model.actions_on(type):
            checking.note(
                DiagnosticCode.NOT_DISCOVERED, ("discover",), "", "discover", type=type, verb=model.discover or ""
            )


def check_raising(checking: CheckContext) -> None:
    """Report, as warnings, privilege escalation: rules by which a role leads its holder or subject to a stronger one."""
    roles = checking.model.roles
    for index, rule in enumerate(checking.model.spread):
        for role in rule.roles if rule.role else ():
            if role in roles[rule.role or role].closure - {rule.role}:
                checking.note(DiagnosticCode.STRONGER_AWAY, ("spread", index, "as"), role=role, other=rule.role or "")
    for index, row in enumerate(checking.model.assign):
        for holder in row.holder if row.verbs & {"add", "change"} else ():
            above = [
                role for role in sorted(row.roles) if holder in roles[role].closure - {role} and roles[role].on & row.on
            ]
            if above:
                path = ("assign", index, "roles", above[0])
                checking.note(DiagnosticCode.RAISES_ITSELF, path, holder=holder, roles=either_of(above))


def _list_types_given_on(checking: CheckContext, role: str) -> Types:
    """Return the types on which a rule lets a caller add the role, or on which it is assigned automatically."""
    model = checking.model
    rules = [rule.on for rule in model.assign if role in rule.roles and rule.verbs & {"add", "change"}]
    created = [creator.types for creator in model.creators if creator.role == role]
    scoped = [Types(type for type, given in roles.items() if given == role) for roles in model.scopes.values()]
    newcomer = [Types(("organization",))] if role == model.newcomer else []
    return Types().union(*rules, *created, *scoped, *newcomer)
