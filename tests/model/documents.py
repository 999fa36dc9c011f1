"""Strategies for model files: everything that the language can express, sensible or not; and models written as files."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from headgate.decision.conditions import CONDITIONS
from headgate.model.model import AssignRule, Condition, Model, RequiredRole, Role, When
from headgate.model.parse_rules import SUBJECT_KINDS, VERBS

Document = Mapping[str, Any]

_TREE = {
    "organization": ["deployment"],
    "group": ["organization"],
    "project": ["organization"],
    "database": ["project"],
    "table": ["database", "project"],
    "source": [],
}
_ROLES = ("viewer", "EDITOR", "table.select", "r4")
_RELATIONS = ("owner", "created_by", "inputs")
_SETTINGS = {"plan": ["free", "paid"], "strict": ["true", "false"]}
_ACTIONS = {
    "organization": ["describe", "edit"],
    "project": ["describe"],
    "table": ["select", "insert"],
    "source": ["edit"],
}
_NEEDED = ["table.select", "project.describe", "source.edit, table.insert"]


def _some(values: Collection[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(sorted(values)), min_size=least, max_size=3, unique=True)


_types, _roles, _role, _kinds = _some(_TREE), _some(_ROLES), st.sampled_from(_ROLES), _some(SUBJECT_KINDS)
_relation = st.sampled_from(_RELATIONS)
_flag = st.sampled_from(("true", "false"))
_values = _some(("one", "two", "'with blanks'")).map(" ".join)
_operand = st.sampled_from(("self.kind", "parent.kind", "with.kind"))
_term = st.one_of(
    st.sampled_from(sorted(CONDITIONS)),
    st.sampled_from(sorted(CONDITIONS)).map(lambda name: f"not {name}"),
    st.builds(lambda operand, word: f"{operand} is {word}", _operand, st.sampled_from(("a", "'b c'"))),
    st.builds(lambda operand, word: f"{operand} is not {word}", _operand, st.sampled_from(("a", "'b c'"))),
    st.builds(lambda operand, values: f"{operand} in {values}", _operand, _values),
    st.builds(lambda operand, values: f"{operand} not in {values}", _operand, _values),
    st.sampled_from(("setting.plan is free", "setting.strict is not true", "setting.plan not in free paid")),
)
_when = _term | st.lists(_term, min_size=1, max_size=2)
_place = st.sampled_from(("self", "parent", "self.owner", "parent.inputs", "with.cluster", "each with.of", "each self"))
_needed = st.dictionaries(_place, _role | _roles, min_size=1, max_size=2)
_given = st.fixed_dictionaries({}, optional={name: _some(verbs) for name, verbs in _ACTIONS.items()})


def _row(required: Mapping[str, Any], **optional: Any) -> st.SearchStrategy[Document]:
    return st.fixed_dictionaries({**required}, optional=optional)


def _rows(row: st.SearchStrategy[Document]) -> st.SearchStrategy[list[Document]]:
    return st.lists(row, max_size=3)


def _type(parents: list[str]) -> st.SearchStrategy[Document]:
    return _row({"under": st.just(parents)}, attributes=_some(("kind", "age")), relations=_some(_RELATIONS))


_role_body = _row({"on": _some(_TREE, 0)}, to=_kinds, when=_when, includes=_roles, actions=_given)
_spread = st.one_of(
    _row({"roles": _roles, "from": _types}, to=_types, along=_relation, when=_when, **{"as": _role}),
    _row({"roles": _roles, "from": _types, "up": st.sampled_from(sorted(_TREE))}, within=_flag, to=_types),
)
_alternative = st.one_of(_row({"when": _when}, roles=_needed), _row({"roles": _needed}))
_assign = _row(
    {"roles": _roles, "on": _types, "holder": _role | _roles},
    on_subject=_roles, needs=_needed, to=_kinds, verbs=_some(VERBS), when=_when, custom=_flag,
)  # fmt: skip
_custom = _row({"of": _roles, "on": _types}, to=_kinds, when=_when, replaces=_roles)
_derived = st.just([]) | _row(
    {"types": st.just(["source"]), "weakest_over": _some(_RELATIONS), "when_empty": _some(_RELATIONS, 0)}
).map(lambda row: [row])

DOCUMENTS: st.SearchStrategy[Document] = _row(
    {
        "model": st.just("m"),
        "version": st.integers(1, 99).map(str),
        "types": st.fixed_dictionaries({name: _type(parents) for name, parents in _TREE.items()}),
        "roles": st.fixed_dictionaries(dict.fromkeys(_ROLES, _role_body)),
        "assign": _rows(_assign),
        "settings": st.just({name: {"on": "project", "values": v, "default": v[0]} for name, v in _SETTINGS.items()}),
    },
    custom_roles=_custom,
    lineage=_some(_RELATIONS),
    spread=_rows(_spread),
    named_in=_rows(_row({"relation": _relation, "to": _types, "role": _role})),
    derived=_derived,
    needs=st.dictionaries(st.sampled_from(_NEEDED), st.lists(_alternative, min_size=1, max_size=2)),
    standing=_rows(_row({"on": st.sampled_from(sorted(_TREE)), "roles": _roles, "kinds": _kinds}, exempt=_roles)),
    creators=_rows(_row({"types": _types, "role": _role})),
    newcomer=_role,
    discover=st.just("describe"),
    bridges=_rows(_row({"role": _role, "relation": _relation, "actions": st.just({"table": ["select"]})})),
    members=_types,
    parameters=st.dictionaries(st.sampled_from(("table.select", "assignment.add")), _some(("kind", "of")), max_size=2),
    scopes=st.dictionaries(
        st.sampled_from(("whole", "half")),
        st.dictionaries(st.sampled_from(sorted(_TREE)), _role, min_size=1, max_size=2),
    ),
)


def written(model: Model) -> Document:
    """Return a model as a document that states every value explicitly, without defaults."""
    document = {
        "model": model.name,
        "version": str(model.version),
        **_definitions(model),
        **_roles_elsewhere(model),
        "lineage": list(model.lineage),
        "derived": [
            {"types": [type], "weakest_over": list(rule.weakest_over), "when_empty": list(rule.when_empty)}
            for type, rule in model.derived.items()
        ],
        "needs": {
            action: [{"when": _terms(each.when), "roles": _places(each.roles)} for each in alternatives]
            for action, alternatives in model.needs.items()
        },
        "assign": [_assign_rule(each) for each in model.assign],
        "standing": [
            {"on": each.on, "roles": sorted(each.roles), "kinds": sorted(each.kinds), "exempt": sorted(each.exempt)}
            for each in model.standing
        ],
        "creators": [{"types": sorted(each.types), "role": each.role} for each in model.creators],
        "newcomer": model.newcomer,
        "discover": model.discover,
        "members": sorted(model.members),
        "scopes": {scope: dict(roles) for scope, roles in model.scopes.items()},
        "parameters": {action: list(names) for action, names in model.parameters.items()},
    }
    return _stated(document)


def _definitions(model: Model) -> Document:
    return {
        "types": {
            each.name: {
                "as": each.word,
                "under": list(each.parents),
                "implicit": _flagged(each.implicit),
                "attributes": list(each.attributes),
                "relations": list(each.relations),
            }
            for each in model.types.values()
        },
        "settings": {
            each.name: {"on": each.on, "values": list(each.values), "default": each.default}
            for each in model.settings.values()
        },
        "roles": {each.name: _role_body_of(each) for each in model.roles.values()},
        "custom_roles": model.custom_roles
        and {
            "of": sorted(model.custom_roles.of),
            "on": sorted(model.custom_roles.on),
            "to": sorted(model.custom_roles.to),
            "replaces": sorted(model.custom_roles.replaces),
            "when": _terms(model.custom_roles.when),
        },
    }


def _role_body_of(role: Role) -> Document:
    return {
        "on": sorted(role.on),
        "to": sorted(role.to),
        "includes": sorted(role.closure),
        "actions": _by_type(role.own),
        "when": _terms(role.when),
    }


def _roles_elsewhere(model: Model) -> Document:
    """Return the rules that give a role on resources where it is not assigned."""
    return {
        "spread": [
            {
                "roles": sorted(each.roles),
                "from": sorted(each.origin),
                "up": each.up,
                "within": _flagged(each.within) if each.up else None,
                "along": each.along,
                "to": sorted(each.to or ()),
                "as": each.role,
                "when": _terms(each.when),
            }
            for each in model.spread
        ],
        "named_in": [{"relation": e.relation, "to": sorted(e.to), "role": e.role} for e in model.named_in],
        "bridges": [{"role": e.role, "relation": e.relation, "actions": _by_type(e.actions)} for e in model.bridges],
    }


def _assign_rule(rule: AssignRule) -> Document:
    return {
        "holder": list(rule.holder),
        "on_subject": list(rule.on_subject),
        "needs": _places(rule.needs),
        "roles": sorted(rule.roles),
        "custom": _flagged(rule.custom),
        "on": sorted(rule.on),
        "to": sorted(rule.to),
        "verbs": sorted(rule.verbs),
        "when": _terms(rule.when),
    }


def _stated(value: Any) -> Any:
    """Remove empty values, except for the lists that have a meaning when they are empty."""
    if isinstance(value, Mapping):
        always = {"on", "under", "when_empty", "assign"}
        return {key: _stated(each) for key, each in value.items() if each or key in always}
    return [_stated(each) for each in value] if isinstance(value, list) else value


def _flagged(value: object) -> str:
    return "true" if value else "false"


def _terms(when: When) -> list[str]:
    return [_written_term(term) for term in when]


def _written_term(term: Condition) -> str:
    if term.root == "named":
        return f"{'not ' if term.negated else ''}{term.name}"
    values = " ".join(f"'{value}'" if " " in value else value for value in term.values)
    return f"{term.root}.{term.name} {'not ' if term.negated else ''}in {values}"


def _by_type(actions: Collection[str]) -> dict[str, list[str]]:
    types = sorted({action.partition(".")[0] for action in actions})
    return {type: sorted(a.partition(".")[2] for a in actions if a.partition(".")[0] == type) for type in types}


def _places(needed: Sequence[RequiredRole]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for each in needed:
        start = f"{each.root}.{each.relation}" if each.relation else each.root
        places.setdefault(f"{'each ' if each.optional else ''}{start}", []).append(each.role)
    return places
