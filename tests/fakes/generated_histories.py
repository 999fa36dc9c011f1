"""Histories and questions from Hypothesis, over few ids, for the generated models: what happened, and what is asked then."""

from collections.abc import Sequence

from hypothesis import strategies as st

from headgate.decision.records import Question
from headgate.facts import changes as c
from headgate.facts.caller import Caller
from headgate.facts.fold import apply, fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, RunId, SubjectId, TokenId
from headgate.facts.snapshot import Snapshot
from tests.facts.histories import possible
from tests.fakes.generated_models import (
    ATTRIBUTES,
    CUSTOM,
    HOME,
    OTHER,
    RELATIONS,
    ROLES,
    SETTINGS,
    TYPES,
    VALUES,
    VERBS,
    some,
)

ROOT, ALL, CREW = ResourceId("o"), GroupId("all"), GroupId("g")
USERS = tuple(PrincipalId(id) for id in ("u1", "u2"))
PRINCIPALS = (*USERS, PrincipalId("s1"))
TEAMS = (ResourceId("m1"), ResourceId("m2"))
TOKEN, RUN = TokenId("k"), RunId("n")
ACCESS, REQUEST, PORT = ResourceId("a"), ResourceId("c"), ResourceId("op")
TABLES = tuple(ResourceId(id) for id in ("t1", "t2", "t3"))
RESOURCES = (
    ROOT,
    *TEAMS,
    *(ResourceId(id) for id in ("dp", "p1", "p2", "d1", "d2", "q", "g", "s1", "k")),
    PORT,
    *TABLES,
    ACCESS,
    REQUEST,
)
SUBJECTS: tuple[SubjectId, ...] = (*PRINCIPALS, CREW, ALL, *TEAMS)
TIMES = (5.0, 10.0)
NOW = (0.0, 5.0, 7.0, 10.0)


def _edges(*ids: str) -> tuple[c.Edge, ...]:
    return tuple(c.Edge(ResourceId(id)) for id in ids)


def _made(id: str, type: str, parent: str, **relations: tuple[c.Edge, ...]) -> c.ResourceCreated:
    return c.ResourceCreated(ResourceId(id), type, ResourceId(parent), id, USERS[0], relations)


BEGINNING: tuple[c.Change, ...] = (
    c.OrganizationCreated(ROOT, HOME, ""),
    c.GroupCreated(ALL, built_in=True),
    c.GroupCreated(CREW),
    *(c.PrincipalAdded(id, "user") for id in USERS),
    c.PrincipalAdded(PRINCIPALS[2], "service_principal"),
    c.MemberAdded(CREW, USERS[0]),
    _made("m1", "team", "o"),
    _made("m2", "team", "m1"),
    _made("dp", "data_product", "o", owner=_edges("m2")),
    _made("op", "output_port", "dp", serves=_edges("t1")),
    _made("p1", "project", "o"),
    _made("p2", "project", "o"),
    _made("d1", "database", "p1"),
    _made("d2", "database", "p2"),
    _made("t1", "table", "d1"),
    _made("t2", "table", "d1"),
    _made("t3", "table", "d2"),
    _made("q", "source", "p1", outputs=_edges("t1", "t2"), owner=_edges("d1")),
    c.TokenIssued(TOKEN, USERS[0], None, (TABLES[0],), None, ResourceId("s1")),
    c.RunStarted(RUN, ResourceId("q"), USERS[0]),
)
BEGUN = fold(Snapshot(), BEGINNING, 0)
"""An organization with one of everything."""

_OFTEN = tuple(ResourceId(id) for id in ("o", "m1", "op", "p1", "d1", "t1", "q"))
_RESOURCE = st.sampled_from((*_OFTEN, *_OFTEN, *_OFTEN, *_OFTEN, *RESOURCES))
_PRINCIPAL = st.sampled_from(PRINCIPALS)
_EDGES = st.lists(st.builds(c.Edge, st.sampled_from((*RESOURCES, *map(ResourceId, USERS))), st.booleans()), max_size=2)
_RELATIONS = st.dictionaries(st.sampled_from(RELATIONS), _EDGES.map(tuple), max_size=2)
_WORDS = some(VALUES).map(sorted).map(tuple)
_ATTRIBUTES = st.dictionaries(st.sampled_from((*ATTRIBUTES, "published_branches")), _WORDS, max_size=2)
_DATE = st.sampled_from((None, None, None, *TIMES))
_MODEL = st.sampled_from((*(HOME,) * 6, OTHER, OTHER, "unheard"))

ASSIGNED = st.builds(
    c.RoleAssigned,
    st.sampled_from((*SUBJECTS, *(USERS[0],) * 6, CREW, ALL, *TEAMS)),
    st.sampled_from((*ROLES, *ROLES, *CUSTOM, "unheard")),
    _RESOURCE,
    _MODEL,
    st.none(),
    _DATE,
    _DATE,
    st.sampled_from(("", ACCESS)),
)
_MADE = st.sampled_from(BEGINNING[6:]).filter(lambda change: isinstance(change, c.ResourceCreated))
_OTHERS: st.SearchStrategy[c.Change] = st.one_of(
    st.builds(c.RoleRevoked, st.sampled_from(SUBJECTS), st.sampled_from(ROLES), _RESOURCE),
    st.builds(c.PrincipalAdded, _PRINCIPAL, st.sampled_from(("user", "service_principal"))),
    st.builds(c.PrincipalExpires, _PRINCIPAL, _DATE),
    st.builds(c.PrincipalRemoved, _PRINCIPAL),
    st.builds(c.MemberAdded, st.just(CREW), _PRINCIPAL),
    st.builds(c.MemberRemoved, st.sampled_from((CREW, ALL)), _PRINCIPAL),
    st.builds(c.GroupDeleted, st.just(CREW)),
    st.builds(c.GroupCreated, st.just(CREW)),
    st.builds(c.TokenRevoked, st.just(TOKEN)),
    st.builds(
        c.TokenIssued,
        st.just(TOKEN),
        _PRINCIPAL,
        _DATE,
        st.none() | st.lists(_RESOURCE, max_size=2).map(tuple),
        st.none() | st.just(("table.see", "project.see")),
        st.none() | st.sampled_from((ResourceId("p1"), ResourceId("s1"))),
    ),
    st.builds(
        c.ResourceCreated,
        _RESOURCE,
        st.sampled_from(tuple(TYPES)[4:]),
        _RESOURCE,
        st.sampled_from(("x", "y")),
        st.none() | _PRINCIPAL,
        _RELATIONS,
        _ATTRIBUTES,
    ),
    _MADE,
    st.builds(c.ResourceRenamed, _RESOURCE, _RESOURCE, st.sampled_from(("x", "y"))),
    st.builds(c.ResourceDeleted, _RESOURCE),
    st.builds(c.RelationsSet, _RESOURCE, _RELATIONS),
    st.builds(c.AttributesSet, _RESOURCE, _ATTRIBUTES),
    st.builds(c.SettingChanged, _RESOURCE, st.sampled_from(SETTINGS), st.sampled_from(VALUES)),
    st.builds(c.GovernedBy, st.sampled_from((ROOT, ResourceId("p1"), ResourceId("d2"))), _MODEL, st.just("")),
    st.builds(c.CustomRoleDefined, st.sampled_from(CUSTOM), some(ROLES).map(sorted).map(tuple)),
    st.builds(c.CustomRoleDeleted, st.sampled_from(CUSTOM)),
    st.builds(c.AccessRequested, st.just(ACCESS), st.just(PORT), st.sampled_from((*USERS, *TEAMS)), _PRINCIPAL),
    st.builds(c.AccessApproved, st.just(ACCESS), st.just(5.0), _DATE),
    st.builds(c.AccessEnded, st.just(ACCESS), st.sampled_from(("rejected", "terminated"))),
    st.builds(c.AccessDeleted, st.just(ACCESS)),
    st.builds(c.ChangeRequested, st.just(REQUEST), _RESOURCE, _PRINCIPAL),
    st.builds(c.ChangeDecided, st.just(REQUEST), st.sampled_from(("approved", "rejected"))),
    st.builds(c.RunEnded, st.just(RUN), st.just("succeeded")),
    st.builds(c.RunStarted, st.just(RUN), st.just(ResourceId("q")), _PRINCIPAL),
)
_CHANGES = st.integers(0, 2).flatmap(lambda other: _OTHERS if other else ASSIGNED)


def _kept(batches: Sequence[Sequence[c.Change]]) -> list[list[c.Change]]:
    """Leave out what no command could have done at its point."""
    facts, kept = BEGUN, list[list[c.Change]]()
    for batch in batches:
        kept.append([])
        for change in batch:
            if possible(facts, change) and _meant(facts, change):
                try:
                    facts = apply(facts, change)
                except KeyError:
                    continue
                kept[-1].append(change)
    return kept


def _meant(facts: Snapshot, change: c.Change) -> bool:
    """Say whether what is assigned is there, and somebody whom it is assigned to."""
    if not isinstance(change, c.RoleAssigned):
        return True
    known = (facts.principals, facts.groups, facts.resources)
    return change.resource in facts.resources and any(change.subject in kind for kind in known)


def histories(most: int = 4) -> st.SearchStrategy[list[list[c.Change]]]:
    """Lists of what was done at once, to follow `BEGUN`; the first of them are assignments."""
    first = st.lists(ASSIGNED, min_size=8, max_size=20)
    later = st.lists(st.lists(_CHANGES, min_size=1, max_size=3), max_size=most)
    return st.tuples(first, later).map(lambda parts: _kept([parts[0], *parts[1]]))


_BY_THEMSELVES = st.builds(
    Caller, st.sampled_from((*PRINCIPALS, *(USERS[0],) * 9, *map(PrincipalId, TEAMS), PrincipalId("nobody")))
)


def callers() -> st.SearchStrategy[Caller]:
    """Principals, teams and nobody; mostly by themselves, some through the token or as the run."""
    otherwise = st.builds(
        Caller, st.sampled_from(PRINCIPALS), st.sampled_from((TOKEN, None)), st.sampled_from((None, RUN))
    )
    return st.integers(0, 5).flatmap(lambda one: otherwise if one == 5 else _BY_THEMSELVES)


_TYPE_OF = {each.resource: each.type for each in BEGINNING if isinstance(each, c.ResourceCreated)}
_TYPE_OF |= {ROOT: "organization", ResourceId("g"): "group", ResourceId("s1"): "service_principal"}
_TYPE_OF |= {ResourceId("k"): "token", ACCESS: "access", REQUEST: "change_request"}
SENSIBLE = tuple((f"{type}.{verb}", id) for id, type in _TYPE_OF.items() for verb in VERBS)
"""Every action that a resource of `BEGUN` has, on each of them."""

_ASKED = (*_TYPE_OF, *_OFTEN, *_OFTEN, *_OFTEN)
_SENSIBLE_OFTEN = tuple((f"{_TYPE_OF[id]}.{verb}", id) for id in _ASKED for verb in VERBS)
ACTIONS = (
    *sorted({action for action, _ in SENSIBLE}),
    "assignment.add",
    "assignment.remove",
    "assignment.change",
    "x",
)

_ON = st.dictionaries(
    st.sampled_from(("inputs", "outputs", "consumer")), st.lists(_RESOURCE, max_size=2).map(tuple), max_size=2
)
_GIVEN = st.dictionaries(st.sampled_from(ATTRIBUTES), _WORDS, max_size=1)
_NAME = st.none() | st.sampled_from((*ROLES, *CUSTOM))


def questions() -> st.SearchStrategy[Question]:
    """Questions: mostly of an action that the resource has, some about assignments, some about anything."""
    assigning = st.tuples(st.sampled_from(("assignment.add", "assignment.remove", "assignment.change")), _RESOURCE)
    anything = st.tuples(st.sampled_from(ACTIONS), st.sampled_from((*RESOURCES, ResourceId("nothing"))))
    kinds = (*(st.sampled_from(_SENSIBLE_OFTEN),) * 7, assigning, assigning, anything)
    pairs = st.integers(0, len(kinds) - 1).flatmap(lambda kind: kinds[kind])
    subject = st.none() | st.sampled_from((*SUBJECTS, PrincipalId("nobody")))
    return st.tuples(callers(), pairs, _ON, _NAME, subject, _NAME, _GIVEN).map(
        lambda parts: Question(parts[0], *parts[1], *parts[2:])
    )
