"""Histories and questions from Hypothesis, over few ids, for the generated models: what happened, and what is asked then."""

from collections.abc import Iterator

from hypothesis import strategies as st

from headgate.decision.types import Question
from headgate.facts import changes as c
from headgate.facts.caller import Caller
from headgate.facts.fold import apply, fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, RunId, SubjectId, TokenId
from headgate.facts.snapshot import Snapshot
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

OFTEN = tuple(ResourceId(id) for id in ("o", "m1", "op", "p1", "d1", "t1", "q"))
"""Where most of it happens."""

WORDS = some(VALUES).map(sorted).map(tuple)

_ENDS = (*RESOURCES, *map(ResourceId, USERS))
_EDGES = st.lists(st.builds(c.Edge, st.sampled_from(_ENDS), st.booleans()), max_size=2)
_RELATIONS = st.dictionaries(st.sampled_from(RELATIONS), _EDGES.map(tuple), max_size=2)
_ATTRIBUTES = st.dictionaries(st.sampled_from((*ATTRIBUTES, "published_branches")), WORDS, max_size=2)
_DATE = st.sampled_from((None, None, None, *TIMES))
_MODEL = st.sampled_from((*(HOME,) * 6, OTHER, OTHER, "unheard"))
_MADE = {each.resource: each for each in BEGINNING if isinstance(each, c.ResourceCreated)}


def _resources(facts: Snapshot) -> st.SearchStrategy[ResourceId]:
    there = [id for id in OFTEN if id in facts.resources]
    return st.sampled_from((*there, *there, *there, *sorted(facts.resources)))


def _assigned(facts: Snapshot, roles: tuple[str, ...]) -> st.SearchStrategy[c.Change]:
    subjects = (*SUBJECTS, USERS[0], CREW, ALL, *TEAMS)
    there = [id for id in subjects if id in facts.principals or id in facts.groups or id in facts.resources]
    return st.builds(
        c.RoleAssigned,
        st.sampled_from(there),
        st.sampled_from((*roles, *roles, *CUSTOM, "unheard")),
        _resources(facts),
        _MODEL,
        st.none(),
        _DATE,
        _DATE,
        st.sampled_from(("", ACCESS)),
    )


def _coming(
    facts: Snapshot, roles: tuple[str, ...], permissions: tuple[str, ...]
) -> Iterator[st.SearchStrategy[c.Change]]:
    """Yield what can come now."""
    here, somebody = _resources(facts), st.sampled_from((*sorted(facts.principals), None))
    yield from (
        st.just(each) for id, each in _MADE.items() if id not in facts.resources and each.parent in facts.resources
    )
    if gone := [id for id in _MADE if id not in facts.resources]:
        types = st.sampled_from(tuple(TYPES)[4:])
        yield st.sampled_from(gone).flatmap(
            lambda it: st.builds(
                c.ResourceCreated, st.just(it), types, here, st.just(it), somebody, _RELATIONS, _ATTRIBUTES
            )
        )
    if gone := [id for id in PRINCIPALS if id not in facts.principals]:
        yield st.builds(c.PrincipalAdded, st.sampled_from(gone), st.sampled_from(("user", "service_principal")))
    if facts.principals:
        principal = st.sampled_from(sorted(facts.principals))
        narrow = st.none() | st.lists(here, max_size=2).map(tuple)
        actions = st.none() | st.just(("table.see", "project.see"))
        if TOKEN not in facts.tokens and TOKEN not in facts.resources:
            yield st.builds(c.TokenIssued, st.just(TOKEN), principal, _DATE, narrow, actions, st.none() | here)
        if ResourceId("q") in facts.resources:
            yield st.builds(c.RunStarted, st.just(RUN), st.just(ResourceId("q")), principal)
    if CREW not in facts.groups:
        yield st.builds(c.GroupCreated, st.just(CREW), st.booleans())
    if ACCESS not in facts.resources and PORT in facts.resources:
        consumer = st.sampled_from((*USERS, *TEAMS))
        yield st.builds(c.AccessRequested, st.just(ACCESS), st.just(PORT), consumer, somebody)
    if ACCESS in facts.agreements and PORT in facts.resources:
        served, role = st.sampled_from((*USERS, *TEAMS)), st.sampled_from(roles)
        yield st.builds(c.RoleAssigned, served, role, st.just(PORT), st.just(HOME), reason=st.just(ACCESS))
    if REQUEST not in facts.resources:
        yield st.builds(c.ChangeRequested, st.just(REQUEST), here, somebody)
    yield st.builds(c.CustomRoleDefined, st.sampled_from(CUSTOM), some(permissions).map(sorted).map(tuple))


def _going(facts: Snapshot) -> Iterator[st.SearchStrategy[c.Change]]:
    """Yield what can go now."""
    if held := [(subject, *key) for subject, given in sorted(facts.assignments.items()) for key in sorted(given)]:
        yield from (st.sampled_from(held).map(lambda each: c.RoleRevoked(*each)),) * 3
    if there := [id for id in _MADE if id in facts.resources]:
        yield st.builds(c.ResourceDeleted, st.sampled_from(there))
    if facts.principals:
        yield st.builds(c.PrincipalRemoved, st.sampled_from(sorted(facts.principals)))
    if CREW in facts.groups:
        yield st.just(c.GroupDeleted(CREW))
    if TOKEN in facts.tokens:
        yield st.just(c.TokenRevoked(TOKEN))
    if ACCESS in facts.agreements:
        yield st.just(c.AccessDeleted(ACCESS))
        yield st.builds(c.AccessEnded, st.just(ACCESS), st.sampled_from(("rejected", "terminated", "terminated")))
    if RUN in facts.runs:
        yield st.just(c.RunEnded(RUN, "succeeded"))
    if facts.custom_roles:
        yield st.builds(c.CustomRoleDeleted, st.sampled_from(sorted(facts.custom_roles)))


def _turning(facts: Snapshot) -> Iterator[st.SearchStrategy[c.Change]]:
    """Yield what can become otherwise now."""
    here = _resources(facts)
    yield st.builds(c.RelationsSet, here, _RELATIONS)
    if related := [id for id, each in _MADE.items() if each.relations and id in facts.resources]:
        yield st.sampled_from(related).flatmap(_related)
    yield st.builds(c.AttributesSet, here, _ATTRIBUTES)
    yield st.builds(c.SettingChanged, here, st.sampled_from(SETTINGS), st.sampled_from(VALUES))
    governed = [id for id in (ROOT, ResourceId("p1"), ResourceId("d2")) if id in facts.resources]
    yield st.builds(c.GovernedBy, st.sampled_from(governed), _MODEL, st.just(""))
    if there := [id for id in _MADE if id in facts.resources]:
        yield st.sampled_from(there).flatmap(lambda it: _moved(facts, it))
    if facts.principals:
        principal = st.sampled_from(sorted(facts.principals))
        yield st.builds(c.PrincipalExpires, principal, _DATE)
        yield from (st.builds(c.MemberAdded, st.just(each), principal) for each in sorted(facts.groups))
        yield from (st.builds(c.MemberRemoved, st.just(each), principal) for each in sorted(facts.groups))
    if ACCESS in facts.agreements:
        yield st.builds(c.AccessApproved, st.just(ACCESS), st.just(5.0), _DATE)
    if REQUEST in facts.change_requests:
        yield st.builds(c.ChangeDecided, st.just(REQUEST), st.sampled_from(("approved", "rejected")))


def _related(id: ResourceId) -> st.SearchStrategy[c.Change]:
    names = {name: _EDGES.map(tuple) for name in _MADE[id].relations}
    return st.builds(c.RelationsSet, st.just(id), st.fixed_dictionaries(names))


def _moved(facts: Snapshot, id: ResourceId) -> st.SearchStrategy[c.Change]:
    inside = {id, *facts.list_below(id)}
    elsewhere = [each for each in sorted(facts.resources) if each not in inside]
    return st.builds(c.ResourceRenamed, st.just(id), st.sampled_from(elsewhere), st.just(id))


def _possible(
    facts: Snapshot, roles: tuple[str, ...], permissions: tuple[str, ...]
) -> tuple[st.SearchStrategy[c.Change], ...]:
    return (*(_assigned(facts, roles),) * 4, *_going(facts), *_turning(facts), *_coming(facts, roles, permissions))


@st.composite
def histories(
    draw: st.DrawFn, most: int = 3, roles: tuple[str, ...] = ROLES, permissions: tuple[str, ...] = ROLES
) -> list[list[c.Change]]:
    """Draw lists of what was done at once, to follow `BEGUN`; the first of them is assignments of these roles.

    What an organization defines itself is made of the permissions.
    """
    facts, history = BEGUN, [[]]
    for _ in range(draw(st.integers(10, 20))):
        history[0].append(draw(_assigned(facts, roles)))
        facts = apply(facts, history[0][-1])
    for size in draw(st.lists(st.integers(1, 3), max_size=most)):
        history.append([])
        for _ in range(size):
            possible = _possible(facts, roles, permissions)
            history[-1].append(draw(possible[draw(st.integers(0, len(possible) - 1))]))
            facts = apply(facts, history[-1][-1])
    return history


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

_ASKED = (*_TYPE_OF, *OFTEN, *OFTEN, *OFTEN)
_SENSIBLE_OFTEN = tuple((f"{_TYPE_OF[id]}.{verb}", id) for id in _ASKED for verb in VERBS)
ACTIONS = (
    *sorted({action for action, _ in SENSIBLE}),
    "assignment.add",
    "assignment.remove",
    "assignment.change",
    "x",
)

_ANYTHING = st.sampled_from((*OFTEN, *OFTEN, *RESOURCES))
_ON = st.dictionaries(
    st.sampled_from(("inputs", "outputs", "consumer")), st.lists(_ANYTHING, max_size=2).map(tuple), max_size=2
)
_GIVEN = st.dictionaries(st.sampled_from(ATTRIBUTES), WORDS, max_size=1)
_NAME = st.none() | st.sampled_from((*ROLES, *CUSTOM))


def questions() -> st.SearchStrategy[Question]:
    """Questions: mostly of an action that the resource has, some about assignments, some about anything."""
    assigning = st.tuples(st.sampled_from(("assignment.add", "assignment.remove", "assignment.change")), _ANYTHING)
    anything = st.tuples(st.sampled_from(ACTIONS), st.sampled_from((*RESOURCES, ResourceId("nothing"))))
    kinds = (*(st.sampled_from(_SENSIBLE_OFTEN),) * 7, assigning, assigning, anything)
    pairs = st.integers(0, len(kinds) - 1).flatmap(lambda kind: kinds[kind])
    subject = st.none() | st.sampled_from((*SUBJECTS, PrincipalId("nobody")))
    return st.tuples(callers(), pairs, _ON, _NAME, subject, _NAME, _GIVEN).map(
        lambda parts: Question(parts[0], *parts[1], *parts[2:])
    )
