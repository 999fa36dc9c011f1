"""The fold: what each change does, and that there is one way only to a snapshot."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from headgate.facts import changes as c
from headgate.facts.fold import apply, fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, RunId, TokenId
from headgate.facts.snapshot import Snapshot
from tests.fakes.generated import WORLDS, few
from tests.fakes.world import (
    ALL,
    CREW,
    DELAYS,
    FLIGHTS,
    LAKE,
    MEMBER,
    OTHER,
    OWNER,
    PEOPLE,
    PLANES,
    RAW,
    ROOT,
    SALARIES,
    SECRET,
    THINGS,
    assigned,
    snapshot,
)

TOKEN, RUN = TokenId("token"), RunId("run")


def test_folding_at_once_and_step_by_step_give_the_same_snapshot() -> None:
    every = (*PEOPLE, *THINGS)
    steps = accumulate(every, lambda facts, change: fold(facts, (change,), facts.revision + 1), initial=Snapshot())

    assert [*steps][-1] == fold(Snapshot(), every, len(every))


@few
@given(WORLDS, st.integers(min_value=2, max_value=9))
def test_no_changes_change_the_revision_only(facts: Snapshot, revision: int) -> None:
    assert fold(fold(facts, (), revision), (), facts.revision) == facts


@few
@given(WORLDS)
def test_a_snapshot_is_never_changed_in_place(facts: Snapshot) -> None:
    before = repr(facts)

    for change in (
        c.PrincipalRemoved(MEMBER),
        c.ResourceDeleted(LAKE),
        assigned(OTHER, "viewer", LAKE),
        c.GroupCreated(GroupId("new"), built_in=True),
    ):
        apply(facts, change)
    assert repr(facts) == before


def test_what_is_given_and_taken_leaves_nothing() -> None:
    facts = snapshot(assigned(CREW, "viewer", RAW), c.RoleRevoked(CREW, "viewer", RAW))

    assert CREW not in facts.assignments


def test_taking_what_was_never_given_changes_nothing() -> None:
    facts = snapshot()

    assert not apply(facts, c.RoleRevoked(CREW, "viewer", RAW)).assignments.get(CREW)


def test_a_rename_there_and_back_is_none() -> None:
    facts = snapshot()
    there = apply(facts, c.ResourceRenamed(FLIGHTS, SECRET, "vols"))

    assert there.find(("lake", "secret", "vols")) == there.resources[FLIGHTS]
    assert there.find(("lake", "raw", "flights")) is None
    assert apply(there, c.ResourceRenamed(FLIGHTS, RAW, "flights")) == facts


def test_deleting_takes_everything_below_and_what_is_assigned_there() -> None:
    facts = apply(
        snapshot(assigned(MEMBER, "viewer", FLIGHTS), assigned(MEMBER, "viewer", SALARIES)), c.ResourceDeleted(RAW)
    )

    assert not {RAW, FLIGHTS, PLANES} & facts.resources.keys()
    assert not {RAW, FLIGHTS, PLANES} & facts.children.keys()
    assert facts.find(("lake", "raw")) is None
    assert {place for _, place in facts.assignments[MEMBER]} == {ROOT, SALARIES}


def test_deleting_a_pipeline_takes_its_run_as() -> None:
    assert DELAYS not in apply(snapshot(), c.ResourceDeleted(DELAYS)).run_as


def test_who_leaves_takes_memberships_assignments_tokens_and_run_as_along() -> None:
    held = (c.MemberAdded(CREW, MEMBER), c.TokenIssued(TOKEN, MEMBER), c.RunAsSet(DELAYS, MEMBER))
    facts = apply(snapshot(*held), c.PrincipalRemoved(MEMBER))

    assert MEMBER not in facts.principals
    assert MEMBER not in facts.assignments
    assert not any(MEMBER in group.members for group in facts.groups.values())
    assert TOKEN not in facts.tokens
    assert DELAYS not in facts.run_as


def test_the_built_in_group_holds_every_user_and_no_service() -> None:
    service = PrincipalId("service")
    facts = snapshot(c.PrincipalAdded(service, "service_principal"), c.PrincipalAdded(PrincipalId("late"), "user"))
    later = apply(facts, c.GroupCreated(GroupId("later"), built_in=True))

    assert facts.groups[ALL].members == facts.principals.keys() - {service}
    assert later.groups[GroupId("later")].members == facts.groups[ALL].members


def test_members_come_and_go() -> None:
    facts = snapshot(c.MemberAdded(CREW, MEMBER), c.MemberAdded(CREW, OTHER), c.MemberRemoved(CREW, MEMBER))

    assert facts.groups[CREW].members == {OTHER}
    assert set(facts.groups_of(OTHER)) == {ALL, CREW}


def test_runs_begin_and_end() -> None:
    facts = snapshot(c.RunStarted(RUN, DELAYS, OWNER))

    assert facts.runs[RUN].run_as == OWNER
    assert not apply(facts, c.RunEnded(RUN, "succeeded")).runs


def test_names_are_found_from_the_lake_down() -> None:
    facts = snapshot()

    assert facts.full_name(FLIGHTS) == ("lake", "raw", "flights")
    assert facts.find(("lake", "raw", "flights")) == facts.resources[FLIGHTS]
    assert facts.find(()) is None
    assert facts.find(("raw",)) is None
    assert Snapshot().find(("lake",)) is None
    assert facts.full_name(ROOT) == ("organization",)
    assert facts.resources[ResourceId("lake")].edges("outputs") == ()
