"""Promises about several models in one organization and about agreements. Each docstring is a heading of docs/semantics.md."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headgate.decision.reference import decide
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, Edge, GovernedBy, ResourceCreated, RoleAssigned
from headgate.facts.fold import apply, fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from tests.fakes.generated_worlds import ASSIGNMENTS, CALLERS, DATA, PRINCIPALS, RESOURCES, WORLDS, few, questions
from tests.fakes.small_organization import ACTIONS, DATAMESH, MODELS, NEKT, NOW, ONEHOUSE

SEVERAL = st.lists(questions(CALLERS), min_size=6, max_size=10)

# An organization with two models: the generated one, with a second project that onehouse governs.

LAB, WARD, LAKE2 = ResourceId("lab"), ResourceId("ward"), ResourceId("lab.lake")
CURVES, NOTES = ResourceId("curves"), ResourceId("notes")
_LAB: tuple[Change, ...] = (
    ResourceCreated(LAB, "project", RESOURCES[0], "lab"),
    GovernedBy(LAB, ONEHOUSE.name, ONEHOUSE.hash),
    ResourceCreated(LAKE2, "lake", LAB, "lab"),
    ResourceCreated(WARD, "database", LAKE2, "ward"),
    ResourceCreated(CURVES, "table", WARD, "curves"),
    ResourceCreated(NOTES, "table", WARD, "notes"),
)
_OF_LAB = st.builds(
    RoleAssigned,
    st.sampled_from(PRINCIPALS),
    st.sampled_from(sorted({*ONEHOUSE.roles, *NEKT.roles})),
    st.sampled_from((*RESOURCES, LAB, LAKE2, WARD, CURVES, NOTES)),
    st.just(ONEHOUSE.name),
)
_IN_LAB = st.sampled_from((LAB, LAKE2, WARD, CURVES, NOTES))
BOTH = {NEKT.name: NEKT, ONEHOUSE.name: ONEHOUSE}


@few
@given(WORLDS, st.lists(_OF_LAB, min_size=1, max_size=5), SEVERAL)
def test_promise_1_an_assignment_of_another_model_changes_no_decision(
    facts: Snapshot, theirs: list[RoleAssigned], several: list[Question]
) -> None:
    """An assignment under one model changes no decision on resources that another model governs."""
    before = fold(facts, _LAB, 2)
    after = fold(before, theirs, 2)

    for question in several:
        assert decide(BOTH, after, question, NOW) == decide(BOTH, before, question, NOW)


@few
@given(WORLDS, st.lists(_OF_LAB, max_size=4), ASSIGNMENTS, CALLERS, _IN_LAB, st.sampled_from([*ACTIONS]))
def test_promise_1_an_assignment_of_the_home_model_changes_no_decision_elsewhere(
    facts: Snapshot, theirs: list[RoleAssigned], more: RoleAssigned, caller: Caller, id: ResourceId, action: str
) -> None:
    """The home model's roles, even owner, have no effect in a project that another model governs."""
    before = fold(facts, (*_LAB, *theirs), 2)
    question = Question(caller, action, id)

    assert decide(BOTH, apply(before, replace(more, model=NEKT.name)), question, NOW).allowed == (
        decide(BOTH, before, question, NOW).allowed
    )


# An agreement: a team owns a product whose port serves a table, and another team is its consumer.

CREWS, PRODUCT, PORT, DEAL = ResourceId("crews"), ResourceId("product"), ResourceId("port"), ResourceId("deal")
_MESH: tuple[Change, ...] = (
    GovernedBy(RESOURCES[0], DATAMESH.name, DATAMESH.hash),
    ResourceCreated(CREWS, "team", RESOURCES[0], "crews"),
    ResourceCreated(PRODUCT, "data_product", RESOURCES[0], "product", None, {"owner": (Edge(CREWS),)}),
    ResourceCreated(PORT, "output_port", PRODUCT, "port", None, {"serves": (Edge(DATA[0]),)}),
)
_READING = st.one_of(st.sampled_from(("table.describe", "table.select")), st.sampled_from([*ACTIONS]))
_DATES = st.sampled_from((None, NOW - 1, NOW, NOW + 1))


@few
@given(WORLDS, st.sampled_from(PRINCIPALS), _DATES, _DATES, st.sampled_from((*DATA, *DATA[:1] * 5)), _READING)
def test_promise_1_an_active_agreement_gives_read_only(
    facts: Snapshot, who: PrincipalId, starts: float | None, ends: float | None, id: ResourceId, action: str
) -> None:
    """An active agreement grants its consumer read on the tables that the port serves, from its start to its end, and nothing else."""
    agreed = RoleAssigned(who, "consumer", PORT, DATAMESH.name, None, ends, starts, DEAL)
    there = (*_MESH, RoleAssigned(who, "member", RESOURCES[0], DATAMESH.name))
    before, after = fold(facts, there, 2), fold(facts, (*there, agreed), 2)
    models = {**MODELS, DATAMESH.name: DATAMESH}
    question = Question(Caller(who), action, id)

    active = (starts is None or starts <= NOW) and (ends is None or ends > NOW)
    gives = active and id == DATA[0] and action in ("table.describe", "table.select")
    now, then = decide(models, after, question, NOW).allowed, decide(models, before, question, NOW).allowed
    assert now == (then or gives)
