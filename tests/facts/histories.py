"""Hypothesis strategies for histories: lists of changes of every type over few ids, each possible at its position."""

from typing import get_args

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from headgate.facts import changes as c
from headgate.facts.fold import apply, fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, RunId, SubjectId, TokenId
from headgate.facts.snapshot import Snapshot

few = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""Settings with the same examples at every run, so that a failure is reproducible on every machine."""

ROOT = ResourceId("o")
BEGINNING: tuple[c.Change, ...] = (
    c.OrganizationCreated(ROOT, "nekt", "abc"),
    c.GroupCreated(GroupId("All"), built_in=True),
    c.GroupCreated(GroupId("g1")),
    c.PrincipalAdded(PrincipalId("u1"), "user"),
    c.PrincipalAdded(PrincipalId("s1"), "service_principal"),
    c.ResourceCreated(ResourceId("team"), "team", ROOT, "x"),
    c.ResourceCreated(ResourceId("t1"), "table", ResourceId("team"), "x"),
    c.ResourceCreated(ResourceId("q"), "table", ROOT, "y", None, {"owner": (c.Edge(ResourceId("team")),)}),
)
BEGUN = fold(Snapshot(), BEGINNING, 0)
"""An organization with some of the resources and subjects that the histories create and delete."""

_PRINCIPALS = tuple(PrincipalId(id) for id in ("u1", "u2", "s1"))
_GROUPS = (GroupId("All"), GroupId("g1"))
_PLAIN = tuple(ResourceId(id) for id in ("team", "t1", "t2", "q"))
_FILED = tuple(ResourceId(id) for id in ("a1", "a2", "c1"))
_TOKENS = (TokenId("k1"), TokenId("k2"))
_RESOURCES = (ROOT, *_PLAIN, *_FILED, *(ResourceId(id) for id in ("g1", "s1", "k1")))
_SUBJECTS: tuple[SubjectId, ...] = (*_PRINCIPALS, *_GROUPS, *_PLAIN)
_TIMES = st.sampled_from((None, 1.0, 2.0))

_EDGES = st.lists(st.builds(c.Edge, st.sampled_from(_RESOURCES), st.booleans()), max_size=3).map(tuple)
_RELATIONS = st.dictionaries(st.sampled_from(("inputs", "owner")), _EDGES)
_ATTRIBUTES = st.dictionaries(st.sampled_from(("kind", "domain")), st.lists(st.sampled_from("ab")).map(tuple))

_OF_TYPE: dict[object, st.SearchStrategy[object]] = {
    PrincipalId: st.sampled_from(_PRINCIPALS),
    GroupId: st.sampled_from(_GROUPS),
    ResourceId: st.sampled_from(_RESOURCES),
    TokenId: st.sampled_from(_TOKENS),
    RunId: st.sampled_from((RunId("n1"), RunId("n2"))),
    SubjectId: st.sampled_from(_SUBJECTS),
    float: st.sampled_from((1.0, 2.0)),
    float | None: _TIMES,
    int: st.integers(1, 9),
    c.Relations: _RELATIONS,
    c.Attributes: _ATTRIBUTES,
    ResourceId | None: st.sampled_from((None, ROOT, ResourceId("s1"), ResourceId("team"))),
    PrincipalId | None: st.sampled_from((None, *_PRINCIPALS)),
}
_OF_NAME: dict[str, st.SearchStrategy[object]] = {
    "kind": st.sampled_from(("user", "service_principal")),
    "role": st.sampled_from(("viewer", "editor")),
    "model": st.sampled_from(("nekt", "datamesh")),
    "reason": st.sampled_from(("", "a1", "a2")),
    "type": st.sampled_from(("team", "table")),
    "state": st.sampled_from(("approved", "rejected", "terminated")),
    "access": st.sampled_from(_FILED[:2]),
    "request": st.sampled_from(_FILED[2:]),
    "setting": st.sampled_from(("plan", "edition")),
    "value": st.sampled_from(("on", "off")),
    "name": st.sampled_from(("x", "y")),
}


def _built(kind: type) -> st.SearchStrategy[c.Change]:
    fields = {
        each.name: _OF_NAME.get(each.name, _OF_TYPE.get(each.type, st.from_type(each.type)))
        for each in kind.__dataclass_fields__.values()
    }
    if kind is c.ResourceCreated:
        fields["resource"] = st.sampled_from(_PLAIN)
    return st.builds(kind, **fields)


_OFTEN = (
    c.RoleAssigned,
    c.RoleAssigned,
    c.MemberAdded,
    c.ResourceCreated,
    c.AccessRequested,
    c.RelationsSet,
    c.RunAsSet,
)
_CHANGES = st.one_of([_built(kind) for kind in (*get_args(c.Change)[1:], *_OFTEN)])


def _new_ids(change: c.Change) -> tuple[str, ...]:
    match change:
        case c.PrincipalAdded(id) | c.GroupCreated(id) | c.TokenIssued(id) | c.ResourceCreated(id):
            return (id,)
        case c.AccessRequested(id) | c.ChangeRequested(id):
            return (id,)
        case _:
            return ()


def possible(facts: Snapshot, change: c.Change) -> bool:
    """Whether a command could make this change: new ids and names are free, nothing is moved below itself, no token is run."""
    known = (facts.resources, facts.principals, facts.groups, facts.tokens)
    if any(id in kind for kind in known for id in _new_ids(change)):
        return False
    match change:
        case c.ResourceCreated(_, _, parent, name):
            return name not in facts.children.get(parent, ())
        case c.ResourceRenamed(id, parent, name):
            inside = (id, *facts.list_below(id)) if id in facts.resources else ()
            return id != ROOT and parent not in inside and name not in facts.children.get(parent, ())
        case c.ResourceDeleted(id):
            return id != ROOT
        case c.RunAsSet(id):
            return id in facts.resources and id not in facts.tokens
        case _:
            return True


def histories() -> st.SearchStrategy[list[c.Change]]:
    """Lists of changes that can be applied after `BEGUN`, one after the other."""
    return st.lists(_CHANGES, min_size=12, max_size=60).map(_those_possible)


def _those_possible(changes: list[c.Change]) -> list[c.Change]:
    facts, kept = BEGUN, list[c.Change]()
    for change in changes:
        if possible(facts, change):
            try:
                facts = apply(facts, change)
            except KeyError:
                continue
            kept.append(change)
    return kept
