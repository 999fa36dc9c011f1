"""Conditions that are implemented in code, tested at the boundary where each stops holding."""

import pytest

from headgate.decision.conditions import CONDITIONS, ConditionInput
from headgate.decision.conditions import holds as all_hold
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    AccessApproved,
    AccessEnded,
    AccessRequested,
    Attributes,
    Change,
    ChangeRequested,
    CustomRoleDefined,
    PrincipalAdded,
    ResourceCreated,
)
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.model.model import Condition
from tests.fakes.small_organization import (
    DATAMESH,
    FLIGHTS,
    LAKE,
    MEMBER,
    NOW,
    OTHER,
    PROJECT,
    ROOT,
    assigned,
    snapshot,
)

ACCESS, REQUEST = ResourceId("access"), ResourceId("request")
REQUESTED = (
    ResourceCreated(ACCESS, "access", PROJECT, "access"),
    AccessRequested(ACCESS, FLIGHTS, MEMBER, MEMBER),
)


def holds(
    condition: str,
    *facts: Change,
    on: ResourceId = ROOT,
    who: PrincipalId = MEMBER,
    given: Attributes | None = None,
    subject: PrincipalId | None = None,
) -> bool:
    """Whether the condition holds in the small organization with these facts added."""
    there = snapshot(*facts)
    question = Question(Caller(who), "any", on, subject=subject, given=given or {})
    return CONDITIONS[condition](ConditionInput(there, question, DATAMESH, there.resources[on], NOW))


@pytest.mark.parametrize(("keys", "left"), [(0, True), (99, True), (100, False), (101, False)])
def test_an_organization_has_at_most_a_hundred_keys(keys: int, left: bool) -> None:  # noqa: FBT001 - a row of the table
    made = (PrincipalAdded(PrincipalId(f"key-{number}"), "service_principal") for number in range(keys))

    assert holds("keys_left", *made) is left


@pytest.mark.parametrize(("ends", "before"), [(None, True), (NOW + 1, True), (NOW, False), (NOW - 1, False)])
def test_an_agreement_expires_at_its_end(ends: float | None, before: bool) -> None:  # noqa: FBT001 - the same
    assert holds("before_end", *REQUESTED, AccessApproved(ACCESS, 0, ends), on=ACCESS) is before


def test_a_resource_that_is_no_agreement_is_never_before_its_end() -> None:
    assert not holds("before_end", on=FLIGHTS)


def test_a_request_is_in_one_state_at_a_time() -> None:
    approved, ended = AccessApproved(ACCESS, 0, None), AccessEnded(ACCESS, "rejected")

    states = [
        tuple(holds(state, *REQUESTED, *more, on=ACCESS) for state in ("requested", "approved"))
        for more in ((), (approved,), (ended,))
    ]

    assert states == [(True, False), (False, True), (False, False)]
    assert not holds("requested", on=FLIGHTS)


def test_the_author_condition_holds_for_the_author_of_the_request_only() -> None:
    change = (ResourceCreated(REQUEST, "change_request", PROJECT, "r"), ChangeRequested(REQUEST, FLIGHTS, MEMBER))

    assert holds("author", *REQUESTED, on=ACCESS)
    assert holds("author", *change, on=REQUEST)
    assert not holds("author", *REQUESTED, on=ACCESS, who=OTHER)
    assert not holds("author", on=FLIGHTS)


class TestDomains:
    def test_the_own_domain_condition_holds_for_the_domain_of_the_user_only(self) -> None:
        known = PrincipalAdded(PrincipalId("known"), "user", {"domain": ("a.example",)})

        assert holds("own_domain", known, who=PrincipalId("known"), given={"domain": ("a.example",)})
        assert not holds("own_domain", known, who=PrincipalId("known"), given={"domain": ("b.example",)})

    def test_a_user_without_a_domain_has_no_own_domain(self) -> None:
        assert not holds("own_domain", given={"domain": ()})
        assert not holds("own_domain", who=PrincipalId("nobody"), given={"domain": ()})

    def test_a_domain_is_free_until_an_organization_has_it(self) -> None:
        taken = ResourceCreated(ResourceId("x"), "organization", ROOT, "x", attributes={"domain": ("a.example",)})

        assert not holds("free_domain", taken, given={"domain": ("a.example",)})
        assert holds("free_domain", taken, given={"domain": ("b.example",)})


def test_a_table_is_published_on_main_and_on_the_branches_that_its_layer_names() -> None:
    layer, table = ResourceId("layer"), ResourceId("table")
    named: Attributes = {"published_branches": ("release",)}

    published = [
        holds(
            "published",
            ResourceCreated(layer, "database", LAKE, "layer", attributes=named),
            ResourceCreated(table, "table", layer, "table", attributes=attributes),
            on=table,
        )
        for attributes in ({"branch": ("main",)}, {"branch": ("release",)}, {"branch": ("mine",)}, {})
    ]

    assert published == [True, True, False, False]


def test_the_member_condition_requires_a_current_role_on_the_resource_itself() -> None:
    assert holds("subject_is_member", assigned(OTHER, "viewer", FLIGHTS), on=FLIGHTS, subject=OTHER)
    assert not holds("subject_is_member", assigned(OTHER, "viewer", FLIGHTS, NOW), on=FLIGHTS, subject=OTHER)
    assert not holds("subject_is_member", assigned(OTHER, "viewer", PROJECT), on=FLIGHTS, subject=OTHER)
    assert not holds("subject_is_member", assigned(OTHER, "viewer", FLIGHTS), on=FLIGHTS)


class TestCustomRoles:
    def test_the_permissions_condition_holds_only_if_the_model_knows_every_permission(self) -> None:
        assert DATAMESH.custom_roles
        one = min(DATAMESH.custom_roles.of)

        assert holds("permissions_known", given={"permissions": (one,)})
        assert not holds("permissions_known", given={"permissions": (one, "no such")})

    def test_the_known_role_condition_holds_only_if_every_name_is_defined(self) -> None:
        defined = CustomRoleDefined("steward", ())

        assert holds("role_is_known", defined, given={"name": ("steward",)})
        assert not holds("role_is_known", defined, given={"name": ("steward", "other")})

    def test_the_held_role_condition_holds_if_any_principal_holds_the_role(self) -> None:
        assert holds("role_is_held", given={"name": ("owner",)})
        assert not holds("role_is_held", given={"name": ("held by no principal",)})


def test_a_condition_reads_the_operand_that_its_root_names() -> None:
    """The same attribute of the resource, of its parent and of the question are three different operands."""
    layer, table = ResourceId("layer"), ResourceId("table")
    facts = snapshot(
        ResourceCreated(layer, "database", LAKE, "layer", attributes={"kind": ("of the layer",)}),
        ResourceCreated(table, "table", layer, "table", attributes={"kind": ("of the table",)}),
    )
    question = Question(Caller(MEMBER), "any", table, given={"kind": ("of the question",)})
    case = ConditionInput(facts, question, DATAMESH, facts.resources[table], NOW)

    for root, value in (("self", "of the table"), ("parent", "of the layer"), ("with", "of the question")):
        assert all_hold((Condition(root, "kind", ("another", value)),), case)
        assert not all_hold((Condition(root, "kind", ("another", value), negated=True),), case)
        assert not all_hold((Condition(root, "kind", (value,)), Condition(root, "kind", ("another",))), case)
