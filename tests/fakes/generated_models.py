"""Access models from Hypothesis: small ones, of every form that the language has; what no file could say is not among them."""

from collections.abc import Mapping

from hypothesis import strategies as st

from headgate.model.model import (
    AssignRule,
    BridgeGrant,
    Condition,
    CustomRoles,
    MembershipRequirement,
    Model,
    PropagationRule,
    RelationRole,
    RequiredRole,
    Requirement,
    Role,
    Setting,
    Type,
    WeakestOfRule,
    When,
)

HOME, OTHER = "home", "other"
"""The models' names."""

TYPES: Mapping[str, tuple[str, ...]] = {
    "organization": (),
    "group": ("organization",),
    "service_principal": ("organization",),
    "token": ("service_principal", "project"),
    "team": ("organization", "team"),
    "data_product": ("organization",),
    "output_port": ("data_product",),
    "access": ("organization",),
    "change_request": ("organization",),
    "project": ("organization",),
    "database": ("project",),
    "table": ("database",),
    "source": ("project",),
}
"""The tree: every type, with the types that it lies under."""

ROLES = ("r0", "r1", "r2", "r3")
CUSTOM = ("custom", "r1")
"""Names of roles that an organization defines; one is a role of the model's too."""

VERBS = ("see", "do")
KINDS = ("user", "service_principal", "group", "team")
RELATIONS = ("owner", "inputs", "outputs", "serves", "port", "consumer", "of")
SETTINGS, VALUES = ("s", "t"), ("on", "off")
ATTRIBUTES = ("k", "branch")


def some(values: tuple[str, ...], least: int = 0) -> st.SearchStrategy[frozenset[str]]:
    """Some of the values, rather few."""
    return st.lists(st.sampled_from(values), min_size=least, max_size=4).map(frozenset)


_TYPES = some(tuple(TYPES), 1)
_MOST_TYPES = st.tuples(st.integers(0, 3), _TYPES).map(lambda pair: pair[1] if pair[0] == 3 else frozenset(TYPES))
_ROLES = some(ROLES, 1)
_ROLE = st.sampled_from(ROLES)
_ACTIONS = tuple(f"{type}.{verb}" for type in TYPES for verb in VERBS)


def _terms(*roots: str) -> st.SearchStrategy[When]:
    """At most one condition that looks at what the roots say."""
    forms = {
        "setting": st.builds(
            Condition, st.just("setting"), st.sampled_from(SETTINGS), some(VALUES).map(tuple), st.booleans()
        ),
        "self": st.builds(
            Condition, st.just("self"), st.sampled_from(ATTRIBUTES), some(VALUES).map(tuple), st.booleans()
        ),
        "parent": st.builds(
            Condition, st.just("parent"), st.sampled_from(ATTRIBUTES), some(VALUES).map(tuple), st.booleans()
        ),
        "with": st.builds(
            Condition, st.just("with"), st.sampled_from(ATTRIBUTES), some(VALUES).map(tuple), st.booleans()
        ),
        "named": st.builds(Condition, st.just("named"), st.sampled_from(_CONDITIONS), st.just(()), st.booleans()),
    }
    one = st.one_of(*(forms[root] for root in roots))
    return st.tuples(st.integers(0, 3), one).map(lambda pair: (pair[1],) if pair[0] == 3 else ())


_CONDITIONS = ("author", "requested", "before_end", "subject_is_member", "consumer_is_self", "published")
_LASTING = _terms("setting", "self", "parent")
_ANY = _terms("setting", "self", "parent", "with", "named")

_SPREAD = st.one_of(
    st.builds(PropagationRule, _ROLES, _MOST_TYPES, to=st.none() | _TYPES, role=st.none() | _ROLE, when=_LASTING),
    st.builds(
        PropagationRule,
        _ROLES,
        _MOST_TYPES,
        up=st.sampled_from(tuple(TYPES)),
        within=st.booleans(),
        to=st.none() | _TYPES,
        role=st.none() | _ROLE,
        when=_LASTING,
    ),
    st.builds(
        PropagationRule,
        _ROLES,
        _MOST_TYPES,
        along=st.sampled_from(RELATIONS),
        to=st.none() | _TYPES,
        role=st.none() | _ROLE,
        when=_LASTING,
    ),
)
_NAMED_IN = st.builds(RelationRole, st.sampled_from(("created_by", *RELATIONS)), _TYPES, _ROLE)
_DERIVED = st.builds(
    WeakestOfRule,
    st.sampled_from((("outputs",), ("inputs", "outputs"))),
    st.sampled_from((("owner",), ())),
)
_ROLE_AT = st.one_of(
    st.builds(
        RequiredRole, st.sampled_from(("self", "parent")), st.none() | st.sampled_from(RELATIONS), _ROLE, st.booleans()
    ),
    st.builds(RequiredRole, st.just("with"), st.sampled_from(("inputs", "outputs")), _ROLE, st.booleans()),
)
_ALTERNATIVES = st.lists(
    st.builds(Requirement, _ANY, st.lists(_ROLE_AT, max_size=2).map(tuple)), min_size=1, max_size=2
).map(tuple)
_ASSIGN = st.builds(
    AssignRule,
    some(ROLES).map(sorted).map(tuple),
    some(ROLES).map(sorted).map(tuple),
    _ROLES,
    st.booleans(),
    _MOST_TYPES,
    st.just(frozenset(KINDS)) | some(KINDS, 1),
    some(("add", "remove", "change"), 1),
    _ANY,
    st.just(()) | st.lists(_ROLE_AT, max_size=2).map(tuple),
)
_STANDING = st.builds(
    MembershipRequirement, st.sampled_from(("organization", "project", "team")), _ROLES, some(KINDS, 1), some(ROLES)
)
_CUSTOM_ROLES = st.builds(CustomRoles, st.just(frozenset(ROLES)), _MOST_TYPES, some(KINDS, 1), _LASTING, some(ROLES))
_BRIDGE = st.builds(BridgeGrant, _ROLE, st.just("serves"), st.just(frozenset(("table.see",))))


_OWN = st.builds(
    lambda types, verbs: frozenset(f"{type}.{verb}" for type in types for verb in verbs), _MOST_TYPES, some(VERBS, 1)
)


@st.composite
def _roles(draw: st.DrawFn) -> Mapping[str, Role]:
    """Draw roles of which each may include some before it, and what these include."""
    roles: dict[str, Role] = {}
    for name in ROLES:
        included = draw(some(tuple(roles))) if roles else frozenset[str]()
        closure = frozenset((name,)).union(*(roles[each].closure for each in included))
        own = draw(_OWN)
        actions = own.union(*(roles[each].own for each in closure - {name}))
        on = draw(_MOST_TYPES)
        to = draw(st.just(frozenset(KINDS)) | some(KINDS, 1))
        roles[name] = Role(name, on, to, closure, own, actions, draw(_LASTING))
    return roles


def models(name: str) -> st.SearchStrategy[Model]:
    """Models of this name, over all types or only some."""
    return st.builds(
        Model,
        st.just(name),
        st.just(1),
        st.just(""),
        st.sampled_from((tuple(TYPES), tuple(TYPES), tuple(TYPES)[:9], tuple(TYPES)[8:])).map(
            lambda types: {type: Type(type, type, TYPES[type]) for type in types}
        ),
        st.just({each: Setting(each, "organization", VALUES, "off") for each in SETTINGS}),
        _roles(),
        st.lists(_SPREAD, min_size=1, max_size=4).map(tuple),
        st.dictionaries(st.just("source"), _DERIVED),
        st.dictionaries(st.sampled_from(_ACTIONS), _ALTERNATIVES, max_size=3),
        st.lists(_ASSIGN, max_size=2).map(tuple),
        st.sampled_from((0, 0, 1)).flatmap(lambda size: st.lists(_STANDING, min_size=size, max_size=size).map(tuple)),
        st.lists(_NAMED_IN, max_size=1).map(tuple),
        st.sampled_from(((), ("owner",))),
        custom_roles=st.none() | _CUSTOM_ROLES,
        discover=st.sampled_from((None, "see")),
        bridges=st.lists(_BRIDGE, max_size=1).map(tuple),
        members=st.sampled_from((frozenset[str](), frozenset(("team",)))),
    )


def model_sets() -> st.SearchStrategy[Mapping[str, Model]]:
    """The home model and another, both in force."""
    return st.tuples(models(HOME), models(OTHER)).map(lambda pair: {each.name: each for each in pair})


def _dense(name: str) -> Model:
    """Return a model in which whatever happens shows: everything acts elsewhere, too, and gives something there."""
    everywhere = frozenset(TYPES)
    included = {"r0": (), "r1": ("r0",), "r2": (), "r3": ("r2",)}
    gives = {"r0": "see", "r1": "do", "r2": "see", "r3": "do"}
    roles = {
        role: Role(
            role,
            everywhere,
            frozenset(KINDS),
            frozenset((role, *included[role])),
            frozenset(f"{type}.{verb}" for type in TYPES),
            frozenset(f"{type}.{gives[each]}" for each in (role, *included[role]) for type in TYPES),
        )
        for role, verb in gives.items()
    }
    custom = CustomRoles(frozenset(ROLES), everywhere, frozenset(KINDS), (), frozenset(("r3",)))
    return Model(
        name,
        1,
        "",
        {type: Type(type, type, parents) for type, parents in TYPES.items()},
        {each: Setting(each, "organization", VALUES, "off") for each in SETTINGS},
        roles,
        (
            PropagationRule(frozenset(("r0", "r1")), everywhere, when=(Condition("setting", "s", ("off",)),)),
            PropagationRule(frozenset(("r2",)), everywhere, up="project", within=True),
            PropagationRule(
                frozenset(("r3",)),
                everywhere,
                up="organization",
                role="r0",
                when=(Condition("setting", "t", ("off",)),),
            ),
            PropagationRule(frozenset(("r2", "r3")), frozenset(("team", "data_product")), along="port", role="r1"),
        ),
        {"source": WeakestOfRule(("outputs",), ())},
        {},
        (),
        (MembershipRequirement("project", frozenset(("r0", "r1")), frozenset(("user",)), frozenset(("r2",))),),
        (RelationRole("created_by", frozenset(("output_port",)), "r0"),),
        ("owner",),
        custom_roles=custom,
        bridges=(BridgeGrant("r2", "serves", frozenset(("table.see",))),),
        members=frozenset(("team",)),
    )


DENSE: Mapping[str, Model] = {name: _dense(name) for name in (HOME, OTHER)}
"""Two models, in force together, under which answers change easily."""
