"""Descriptions of a model's rules as sentences, with the model's own words for types."""

from collections.abc import Collection, Iterator

from headgate.model.model import (
    AssignRule,
    Condition,
    CreatorRole,
    CustomRoles,
    MembershipRequirement,
    Model,
    PropagationRule,
    RelationRole,
    RequiredRole,
    Requirement,
    When,
)
from headgate.model.parse_rules import SUBJECT_KINDS


def type_words(model: Model, types: Collection[str]) -> str:
    """Return the model's own words for types, in the order of the model."""
    return join_names([model.local_name(each) for each in model.types if each in types])


def join_names(names: Collection[str]) -> str:
    """Return names separated by commas; `nothing` if there are none."""
    return ", ".join(names) or "nothing"


def roles(names: Collection[str], model: Model) -> str:
    """Return roles as code, in the order of the model."""
    return join_names([f"`{each}`" for each in model.roles if each in names])


_OPERANDS = {
    "any_setting": "setting",
    "parent_setting": "parent.setting",
    "any_parent_setting": "parent.setting",
}
"""How a file writes the roots of conditions that it does not write as they are."""


def describe_condition(term: Condition) -> str:
    """Return one condition of a `when`, similar to its form in a model file."""
    if term.root == "named":
        return f"{'not ' if term.negated else ''}`{term.name}`"
    several = len(term.values) > 1
    values = " or ".join(f"`{value}`" for value in term.values)
    operand = f"{_OPERANDS.get(term.root, term.root)}.{term.name}"
    if term.root.startswith("any_"):
        amount, verb = "no" if term.negated else "any", "in" if several else "is"
        return f"{amount} `{operand}` {verb} {values}"
    verb = ("not in" if several else "is not") if term.negated else ("in" if several else "is")
    return f"`{operand}` {verb} {values}"


def condition_suffix(when: When) -> str:
    """Return the end of a sentence with the conditions of a rule; empty if it has none."""
    return f", while {' and '.join(describe_condition(term) for term in when)}" if when else ""


def kind_words(model: Model, kinds: Collection[str]) -> str:
    """Return the model's own words for kinds of subject; `any subject` for all kinds."""
    return (
        "any subject"
        if frozenset(SUBJECT_KINDS) <= frozenset(kinds)
        else join_names([model.local_name(k) for k in sorted(kinds)])
    )


def local_verb(model: Model, verb: str) -> str:
    """Return a verb; if it creates a type, with the model's own word for the type: `create_database` as `create_layer`."""
    prefix, _, type = verb.partition("create_")
    return f"create_{model.local_name(type)}" if type and not prefix else verb


def local_action(model: Model, action: str) -> str:
    """Return an action with the model's own words for types: `lake.create_database` as `lake.create_layer`."""
    type, _, verb = action.partition(".")
    return f"{model.local_name(type)}.{local_verb(model, verb)}"


def describe_spread(rule: PropagationRule, model: Model) -> str:
    """Return a sentence on how a rule spreads an assigned role to other resources."""
    gives = f"`{rule.role}`" if rule.role else "the same role"
    where = _describe_up(rule, rule.up, model) if rule.up else _describe_down(rule, model)
    start = f" that meets {' and '.join(map(describe_condition, rule.when_from))}" if rule.when_from else ""
    return (
        f"{roles(rule.roles, model)} on {type_words(model, rule.origin)}{start}: {gives} {where}"
        f"{condition_suffix(rule.when)}"
    )


def _describe_up(rule: PropagationRule, up: str, model: Model) -> str:
    """Return the place that a rule with `up` reaches: the nearest resource of that type, or resources below it."""
    top = model.local_name(up)
    place = f"its nearest {top}, or itself if it is one" if up in rule.origin else f"its {top}"
    if rule.every:
        place = f"every {top} above it{', and itself if it is one' if up in rule.origin else ''}"
    such = "such a" if rule.every else "that"
    if not rule.within:
        only = "" if rule.to is None else f", if that is one of {type_words(model, rule.to)}"
        return f"on {place}{only}, and no further"
    if rule.to is None:
        return f"on {place}, and on everything below {such} {top}"
    inner = type_words(model, rule.to - {up})
    return f"on {place}, and on each {inner} below {such} {top}" if up in rule.to else f"on each {inner} below {place}"


def _describe_down(rule: PropagationRule, model: Model) -> str:
    if rule.along:
        targets = "everything" if rule.to is None else type_words(model, rule.to)
        return f"on {targets} whose relation `{rule.along}` names that resource or one below it"
    return "on everything below" if rule.to is None else f"on each {type_words(model, rule.to)} below"


def describe_relation_role(rule: RelationRole, model: Model) -> str:
    """Return a sentence on the role of the principal that a relation names."""
    named = (
        "its creator" if rule.relation == "created_by" else f"the principal that its relation `{rule.relation}` names"
    )
    return f"{type_words(model, rule.to)}: {named} holds `{rule.role}` on it"


def describe_creator_role(rule: CreatorRole, model: Model) -> str:
    """Return a sentence on the assignments that are made on a new resource."""
    types = type_words(model, rule.types)
    if rule.future is None:
        creator = "its creator, or the team in which the creator acts," if rule.acting else "its creator"
        return f"{types}: {creator} is assigned `{rule.role}` on it"
    return (
        f"{types}: each subject that is assigned `{rule.future}` on the nearest resource above with such an assignment is "
        f"assigned `{rule.role}` on it"
    )


def describe_custom_roles(rule: CustomRoles, model: Model) -> str:
    """Return the sentences on the roles that organizations may define."""
    replaced = (
        f" While that is so, {roles(rule.replaces, model)} have no effect there, except as custom roles of these names."
        if rule.replaces
        else ""
    )
    return (
        f"Organizations may define custom roles, composed of {roles(rule.of, model)}, to be assigned on "
        f"{type_words(model, rule.on)} to {kind_words(model, rule.to)}{condition_suffix(rule.when)}.{replaced}"
    )


def describe_alternative(way: Requirement) -> str:
    """Return the description of one alternative of an action's requirements."""
    parts = [*(_needed(each) for each in way.roles), *(describe_condition(term) for term in way.when)]
    if way.each:
        parts.append(f"a role that gives the verb, for each word of `with.{way.each}`")
    return " and ".join(parts)


def _needed(needed: RequiredRole) -> str:
    where = f"{needed.root}.{needed.relation}" if needed.relation else needed.root
    return f"`{needed.role}` on {'each ' if needed.optional else ''}`{where}`"


def format_membership_requirement(rule: MembershipRequirement, model: Model) -> str:
    """Return a sentence on which subjects' assignments count."""
    exempt = f", except assignments of {roles(rule.exempt, model)}" if rule.exempt else ""
    kinds = kind_words(model, rule.kinds)
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
        kind_words(model, rule.to & _kinds(rule, model)),
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
    if rule.same:
        yield f"where the subject is in the same {model.local_name(rule.same)}"
