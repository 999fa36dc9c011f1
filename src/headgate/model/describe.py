"""Descriptions of a model's rules as sentences, with the model's own words for types."""

from collections.abc import Collection, Iterator

from headgate.model.model import (
    AssignRule,
    Condition,
    MembershipRequirement,
    Model,
    PropagationRule,
    RequiredRole,
    Requirement,
    When,
)


def type_words(model: Model, types: Collection[str]) -> str:
    """Return the model's own words for types, in the order of the model."""
    return join_names([model.local_name(each) for each in model.types if each in types])


def join_names(names: Collection[str]) -> str:
    """Return names separated by commas; `nothing` if there are none."""
    return ", ".join(names) or "nothing"


def roles(names: Collection[str], model: Model) -> str:
    """Return roles as code, in the order of the model."""
    return join_names([f"`{each}`" for each in model.roles if each in names])


def describe_condition(term: Condition) -> str:
    """Return one condition of a `when`, similar to its form in a model file."""
    if term.root == "named":
        return f"{'not ' if term.negated else ''}`{term.name}`"
    several = len(term.values) > 1
    verb = ("not in" if several else "is not") if term.negated else ("in" if several else "is")
    return f"`{term.root}.{term.name}` {verb} {' or '.join(f'`{value}`' for value in term.values)}"


def condition_suffix(when: When) -> str:
    """Return the end of a sentence with the conditions of a rule; empty if it has none."""
    return f", while {' and '.join(describe_condition(term) for term in when)}" if when else ""


def describe_spread(rule: PropagationRule, model: Model) -> str:
    """Return a sentence on how a rule spreads an assigned role to other resources."""
    start = f"{roles(rule.roles, model)} on {type_words(model, rule.origin)}"
    gives = f"`{rule.role}`" if rule.role else "the same role"
    if rule.up:
        beyond = f" and on everything below it{_only(rule, model)}" if rule.within else ", and spreads no further"
        return f"{start}: {gives} on its {model.local_name(rule.up)}{beyond}{condition_suffix(rule.when)}"
    if rule.along:
        there = f"whose relation `{rule.along}` names that resource or one below it"
        return f"{start}: {gives} on {type_words(model, rule.to or model.types)} {there}{condition_suffix(rule.when)}"
    below = f"on each {type_words(model, rule.to)} below" if rule.to is not None else "on everything below"
    return f"{start}: {gives} {below}{condition_suffix(rule.when)}"


def _only(rule: PropagationRule, model: Model) -> str:
    return "" if rule.to is None else f" that is {type_words(model, rule.to)}"


def describe_alternative(way: Requirement) -> str:
    """Return the description of one alternative of an action's requirements."""
    parts = [*(_needed(each) for each in way.roles), *(describe_condition(term) for term in way.when)]
    return " and ".join(parts)


def _needed(needed: RequiredRole) -> str:
    where = f"{needed.root}.{needed.relation}" if needed.relation else needed.root
    return f"`{needed.role}` on {'each ' if needed.optional else ''}`{where}`"


def format_membership_requirement(rule: MembershipRequirement, model: Model) -> str:
    """Return a sentence on which subjects' assignments count."""
    exempt = f", except assignments of {roles(rule.exempt, model)}" if rule.exempt else ""
    kinds = join_names(sorted(rule.kinds))
    place = type_words(model, {rule.on})
    return (
        f"Below {place}, for {kinds}: only if the subject has one of {roles(rule.roles, model)} on the {place}{exempt}"
    )


def format_assign_rule(rule: AssignRule, model: Model) -> tuple[str, ...]:
    """Return an assign rule as cells of a table: its holders, roles, types, kinds of subject, verbs and conditions."""
    return (
        " ".join(_assigner(rule, model)),
        join_names([roles(rule.roles, model), *(["custom roles"] if rule.custom else [])]),
        type_words(model, rule.on),
        join_names(sorted(rule.to & _kinds(rule, model))),
        join_names([verb for verb in ("add", "change", "remove") if verb in rule.verbs]),
        condition_suffix(rule.when).removeprefix(", while ") or "-",
    )


def _kinds(rule: AssignRule, model: Model) -> frozenset[str]:
    custom = model.custom_roles.to if rule.custom and model.custom_roles else frozenset[str]()
    return custom.union(*(model.roles[role].to for role in rule.roles))


def _assigner(rule: AssignRule, model: Model) -> Iterator[str]:
    if rule.holder:
        yield f"{roles(rule.holder, model)} on the resource"
    if rule.on_subject:
        yield f"{'and ' if rule.holder else ''}{roles(rule.on_subject, model)} on the subject"
    for needed in rule.needs:
        yield f"and {_needed(needed)}"
