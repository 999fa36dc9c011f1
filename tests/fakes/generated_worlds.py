"""Small worlds and questions from Hypothesis: databases, tables, pipelines and assignments, plausible or not."""

from collections.abc import Iterator

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    Change,
    Edge,
    MemberAdded,
    RelationsSet,
    ResourceCreated,
    RoleAssigned,
    RunStarted,
    TokenIssued,
)
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId, RunId, TokenId
from headgate.facts.snapshot import Snapshot
from tests.fakes.small_organization import (
    ACTIONS,
    ADMIN,
    ALL,
    CREW,
    LAKE,
    MEMBER,
    NEKT,
    NOW,
    OTHER,
    OWNER,
    PEOPLE,
    PLACE,
    PROJECT,
    ROOT,
    STRANGER,
)

few = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
"""Use the same few examples at every run, so that a failure is reproducible on every machine."""

PRINCIPALS = (OWNER, ADMIN, MEMBER, OTHER, STRANGER)
DATABASES = (ResourceId("a"), ResourceId("b"))
DATA = tuple(ResourceId(id) for id in ("a.t", "a.u", "a.v", "b.t", "b.u"))
PIPELINES = (ResourceId("s"), ResourceId("q"))
GONE = ResourceId("gone")
"""A resource that a pipeline names and that does not exist."""

RESOURCES = (ROOT, PROJECT, LAKE, *DATABASES, *DATA, *PIPELINES, PLACE)
TOKEN, RUN = TokenId("token"), RunId("run")

_THINGS: tuple[Change, ...] = (
    ResourceCreated(PROJECT, "project", ROOT, "default"),
    ResourceCreated(LAKE, "lake", PROJECT, "lake"),
    *(ResourceCreated(id, "database", LAKE, id) for id in DATABASES),
    *(ResourceCreated(id, "volume" if id == "a.v" else "table", ResourceId(id[0]), id[2:]) for id in DATA),
    ResourceCreated(PLACE, "connection", PROJECT, "place"),
    ResourceCreated(PIPELINES[0], "source", PROJECT, "s"),
    ResourceCreated(PIPELINES[1], "query", PROJECT, "q"),
)


def _edges(targets: tuple[ResourceId, ...]) -> st.SearchStrategy[tuple[Edge, ...]]:
    return st.lists(st.builds(Edge, st.sampled_from(targets), st.booleans()), max_size=3).map(tuple)


_RELATIONS = st.fixed_dictionaries(
    {
        "inputs": _edges((*DATA, GONE)),
        "outputs": _edges((*DATA, *DATA, GONE, *PIPELINES)),
        "output_layers": _edges(DATABASES),
        "connections": _edges((PLACE,)),
    }
)

ASSIGNMENTS: st.SearchStrategy[RoleAssigned] = st.one_of(
    st.builds(
        RoleAssigned,
        st.sampled_from((MEMBER, OTHER, STRANGER, CREW, ALL)),
        st.sampled_from(("viewer", "editor", "manager")),
        st.sampled_from((*DATABASES, *DATA)),
        st.just(NEKT.name),
    ),
    st.builds(
        RoleAssigned,
        st.sampled_from((*PRINCIPALS, CREW, ALL)),
        st.sampled_from((*NEKT.roles, "unheard")),
        st.sampled_from((*RESOURCES, GONE)),
        st.sampled_from((NEKT.name, "another")),
        st.none(),
        st.sampled_from((None, NOW, NOW + 1)),
    ),
)
"""Mostly levels on data; also roles assigned to the wrong type, from another model, expired, or from no model."""

_CHANGES: st.SearchStrategy[list[Change]] = st.tuples(
    st.lists(ASSIGNMENTS, min_size=3, max_size=8),
    st.lists(st.builds(MemberAdded, st.just(CREW), st.sampled_from(PRINCIPALS)), max_size=2),
    st.tuples(*(st.builds(RelationsSet, st.just(id), _RELATIONS) for id in PIPELINES)),
    st.builds(TokenIssued, st.just(TOKEN), st.sampled_from(PRINCIPALS), st.sampled_from((None, NOW, NOW + 1))),
    st.builds(RunStarted, st.just(RUN), st.sampled_from(PIPELINES), st.sampled_from(PRINCIPALS)),
).map(lambda parts: [*parts[0], *parts[1], *parts[2], parts[3], parts[4]])

WORLDS: st.SearchStrategy[Snapshot] = _CHANGES.map(lambda more: fold(Snapshot(), (*PEOPLE, *_THINGS, *more), 1))

_IDS = st.sampled_from((*RESOURCES, GONE))
_ON = st.dictionaries(
    st.sampled_from(("inputs", "outputs", "output_layers")),
    st.lists(st.sampled_from((*DATABASES, *DATA, GONE)), max_size=2).map(tuple),
)


def questions(callers: st.SearchStrategy[Caller]) -> st.SearchStrategy[Question]:
    """Draw questions of these callers: half of them plausible, half of them arbitrary."""
    return st.one_of(
        st.sampled_from(tuple(_sensible())).flatmap(
            lambda pair: st.builds(Question, callers, st.just(pair[0]), st.just(pair[1]), _ON)
        ),
        st.builds(
            Question,
            callers,
            st.sampled_from((*ACTIONS, "table.unheard", "")),
            _IDS,
            _ON,
            st.sampled_from((*NEKT.roles, "unheard", None)),
            st.sampled_from((*PRINCIPALS, CREW, ALL, PrincipalId("nobody"), None)),
        ),
    )


def _sensible() -> Iterator[tuple[str, ResourceId]]:
    kinds = {ROOT: "organization", PROJECT: "project", LAKE: "lake", PLACE: "connection"}
    kinds |= dict.fromkeys(DATABASES, "database") | dict.fromkeys(DATA, "table")
    kinds |= {ResourceId("a.v"): "volume", PIPELINES[0]: "source", PIPELINES[1]: "query"}
    for id, kind in kinds.items():
        yield from ((name, id) for name, action in ACTIONS.items() if kind in action.on)


BY_THEMSELVES = st.builds(Caller, st.sampled_from(PRINCIPALS))
CALLERS = st.builds(
    Caller, st.sampled_from(PRINCIPALS), st.sampled_from((None, None, TOKEN)), st.sampled_from((None, None, RUN))
)
