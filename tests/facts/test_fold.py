"""The fold: the effect of each change, and that every way to a state gives the same snapshot."""

from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from headgate.facts import changes as c
from headgate.facts.fold import apply, fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, RunId, TokenId
from headgate.facts.snapshot import (
    Assignment,
    Group,
    Principal,
    Resource,
    Snapshot,
    Token,
)
from tests.facts.histories import BEGUN, few, histories
from tests.facts.samples import (
    ACCESS,
    ALL,
    ANNA,
    BEN,
    CREW,
    LAKE,
    PIPELINE,
    PORT,
    PROJECT,
    RAW,
    ROBOT,
    ROOT,
    RUN,
    SAMPLES,
    TABLE,
    TEAM,
    TOKEN,
)

FACTS = fold(Snapshot(), SAMPLES, 7)
"""The facts after the samples."""

CONSUMED = ("consumer", PORT, ACCESS)


def after(*changes: c.Change) -> Snapshot:
    """Return the facts after the samples and these changes."""
    return fold(FACTS, changes, 8)


def given_to(subject: PrincipalId, role: str, place: ResourceId, reason: str = "") -> c.RoleAssigned:
    return c.RoleAssigned(subject, role, place, "nekt", reason=reason)


class TestEveryHistory:
    @few
    @given(histories(), st.integers(min_value=1, max_value=5))
    def test_a_history_folds_to_the_same_snapshot_at_once_and_step_by_step(
        self, changes: list[c.Change], cut: int
    ) -> None:
        steps = accumulate(changes, apply, initial=BEGUN)

        assert fold([*steps][-1], (), 9) == fold(fold(BEGUN, changes[:cut], 4), changes[cut:], 9)

    @few
    @given(histories())
    def test_every_index_equals_the_index_that_is_built_from_scratch(self, changes: list[c.Change]) -> None:
        for facts in accumulate(changes, apply, initial=BEGUN):
            assert facts == _reindexed(facts)

    @few
    @given(histories())
    def test_a_change_modifies_no_earlier_snapshot(self, changes: list[c.Change]) -> None:
        steps = list(accumulate(changes, apply, initial=BEGUN))
        before = [repr(step) for step in steps]

        for facts in steps:
            for id in ("o", "u1", "g1", "t1", "k1", "a1"):
                apply(facts, c.PrincipalRemoved(PrincipalId(id)))
        assert [repr(step) for step in steps] == before

    @few
    @given(histories(), st.sampled_from(("u1", "s1", "All", "g1", "team", "t1", "q", "k1", "a1", "c1")))
    def test_a_deletion_leaves_no_trace_of_the_deleted_id(self, changes: list[c.Change], id: str) -> None:
        facts = apply(fold(BEGUN, changes, 9), c.ResourceDeleted(ResourceId(id)))

        assert id not in _named(facts)
        assert facts == _reindexed(facts)

    @few
    @given(histories())
    def test_deleting_a_resource_that_never_existed_changes_nothing(self, changes: list[c.Change]) -> None:
        facts = fold(BEGUN, changes, 9)

        assert apply(facts, c.ResourceDeleted(ResourceId("never"))) == facts


def _named(facts: Snapshot) -> set[str]:
    """Return every id that exists or affects a decision, without those that edges, filed requests and histories still name."""
    maps = (
        *(facts.governs, facts.resources, facts.children, facts.settings, facts.principals, facts.groups),
        *(facts.memberships, facts.assignments, facts.assignments_on, facts.agreements, facts.change_requests),
        *(facts.tokens, facts.actors_of, facts.run_as),
    )
    names: set[str] = {str(id) for each in maps for id in each}
    names |= {each.parent for each in facts.resources.values()}
    names |= {id for siblings in facts.children.values() for id in siblings.values()}
    names |= {id for group in facts.groups.values() for id in group.members}
    names |= {id for groups in facts.memberships.values() for id in groups}
    names |= {id for resources in facts.referrers.values() for id in resources}
    names |= {id for actors in facts.actors_of.values() for id in actors}
    names |= {token.principal for token in facts.tokens.values()}
    names |= {id for subjects in facts.assignments_on.values() for id in subjects}
    names |= {key[1] for held in facts.assignments.values() for key in held}
    return names | set(facts.run_as.values())


def _reindexed(facts: Snapshot) -> Snapshot:
    """Return the snapshot with every index rebuilt, in a slow and simple way."""
    given = [each for held in facts.assignments.values() for each in held.values()]
    people = {each for group in facts.groups.values() for each in group.members}
    edges = {
        (edge.target, each.id)
        for each in facts.resources.values()
        for edges in each.relations.values()
        for edge in edges
    }
    actors = {(token.principal, id) for id, token in facts.tokens.items()} | {
        (who, id) for id, who in facts.run_as.items()
    }
    held: dict[PrincipalId | GroupId | ResourceId, dict[tuple[str, ResourceId, str], Assignment]] = {}
    for each in given:
        held.setdefault(each.subject, {})[each.role, each.resource, each.reason] = each
    return facts._replace(
        children=Map(
            {
                id: Map(
                    {each.name: each.id for each in facts.resources.values() if each.parent == id and each.id != id}
                )
                for id in facts.resources
            }
        ),
        memberships=Map(
            {id: frozenset(each for each, group in facts.groups.items() if id in group.members) for id in people}
        ),
        referrers=Map({target: frozenset(b for a, b in edges if a == target) for target, _ in edges}),
        actors_of=Map({who: frozenset(b for a, b in actors if a == who) for who, _ in actors}),
        assignments=Map({subject: Map(each) for subject, each in held.items()}),
        assignments_on=Map(
            {
                place: Map(
                    {
                        who: tuple(sorted(key for key in held[who] if key[1] == place))
                        for who in {each.subject for each in given if each.resource == place}
                    }
                )
                for place in {each.resource for each in given}
            }
        ),
    )


class TestAChangeSharesWhatItDoesNotTouch:
    """Structural sharing: the cost of a change does not grow with the organization."""

    @pytest.mark.parametrize(
        ("change", "touched"),
        [
            (given_to(BEN, "viewer", TABLE), {"assignments", "assignments_on"}),
            (c.RoleRevoked(CREW, "viewer", TABLE, "because"), {"assignments", "assignments_on"}),
            (c.MemberAdded(CREW, BEN), {"groups", "memberships"}),
            (c.ResourceRenamed(TABLE, RAW, "x"), {"resources", "children"}),
            (c.RelationsSet(PIPELINE, {"inputs": (c.Edge(PORT),)}), {"resources", "referrers"}),
            (c.RunAsSet(PIPELINE, BEN), {"run_as", "actors_of"}),
            (c.PrincipalExpires(BEN, None), {"principals"}),
            (c.ResourceDeleted(TABLE), {"resources", "children", "assignments", "assignments_on"}),
            (c.TokenRevoked(TokenId("never")), set[str]()),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, c.RoleAssigned | c.RoleRevoked) else None,
    )
    def test_a_change_replaces_only_the_fields_that_it_concerns(self, change: c.Change, touched: set[str]) -> None:
        facts = after(change)

        changed = {each for each in Snapshot._fields if getattr(facts, each) is not getattr(FACTS, each)}
        assert changed == touched | {"revision"}


class TestOrganization:
    def test_an_organization_is_the_root_and_its_own_parent(self) -> None:
        facts = fold(Snapshot(), SAMPLES[:1], 1)

        assert facts.resources == Map({ROOT: Resource(ROOT, "organization", ROOT, ROOT, None, {})})
        assert facts.children == Map({ROOT: Map()})
        assert (facts.organization, facts.model, facts.model_hash) == (ROOT, "nekt", "abc")
        assert list(facts.ancestors(ROOT)) == []

    def test_an_organization_can_be_of_another_type(self) -> None:
        facts = apply(Snapshot(), c.OrganizationCreated(ROOT, "onehouse", "abc", "platform"))

        assert facts.resources[ROOT].type == "platform"

    def test_a_change_before_the_organization_exists_is_refused(self) -> None:
        with pytest.raises(KeyError, match="organization"):
            apply(Snapshot(), c.GroupCreated(CREW))


class TestPrincipals:
    def test_a_principal_has_a_kind_an_end_and_attributes(self) -> None:
        assert FACTS.principals[ANNA] == Principal("user", None, {"domain": ("example.org",)})
        assert FACTS.principals[BEN] == Principal("user", 77.0, {})
        assert FACTS.principals[ROBOT].kind == "service_principal"

    def test_a_service_principal_is_a_resource_too(self) -> None:
        robot = FACTS.resources[ResourceId(ROBOT)]

        assert robot == Resource(ResourceId(ROBOT), "service_principal", ROOT, ROBOT, None, {}, {"scope": ("team",)})
        assert FACTS.children[ROOT][ROBOT] == ROBOT
        assert ANNA not in FACTS.resources

    def test_a_service_principal_has_the_same_attributes_as_principal_and_resource(self) -> None:
        facts = after(c.AttributesSet(ResourceId(ROBOT), {"scope": ("organization",)}))

        assert facts.principals[ROBOT].attributes == facts.resources[ResourceId(ROBOT)].attributes
        assert facts.principals[ROBOT].attributes == {"scope": ("organization",)}
        assert ANNA not in after(c.AttributesSet(TABLE, {})).resources

    def test_removing_a_principal_removes_its_memberships_assignments_tokens_and_run_as(self) -> None:
        facts = after(c.PrincipalRemoved(ANNA), c.PrincipalRemoved(ROBOT))

        assert not {ANNA, ROBOT} & set(facts.principals)
        assert facts.groups[CREW].members == frozenset()
        assert facts.groups[ALL].members == {BEN}
        assert ROOT not in facts.assignments_on
        assert PIPELINE not in facts.run_as
        assert PIPELINE in facts.resources
        assert TOKEN not in facts.tokens
        assert not {TOKEN, ROBOT} & set(facts.resources)
        assert TOKEN not in facts.children[PROJECT]

    def test_the_expiry_of_a_principal_can_be_removed(self) -> None:
        assert after(c.PrincipalExpires(BEN, None)).principals[BEN].ends is None


class TestGroups:
    def test_a_group_is_a_resource_with_the_same_id(self) -> None:
        assert FACTS.resources[ResourceId(CREW)] == Resource(
            ResourceId(CREW), "group", ROOT, CREW, None, {}, {"managed_by": ("directory",)}
        )

    def test_a_built_in_group_has_every_user_and_no_service_principal(self) -> None:
        later = apply(FACTS, c.GroupCreated(GroupId("later"), built_in=True))

        assert FACTS.groups[ALL] == Group(frozenset((ANNA, BEN)), built_in=True)
        assert FACTS.resources[ResourceId(ALL)].attributes == {"built_in": ("true",)}
        assert later.groups[GroupId("later")].members == {ANNA, BEN}
        assert later.groups_of(BEN) == {ALL, GroupId("later")}
        assert FACTS.groups_of(ROBOT) == frozenset()

    def test_a_group_gains_and_loses_members(self) -> None:
        facts = after(c.MemberAdded(CREW, BEN), c.MemberRemoved(CREW, ANNA))

        assert facts.groups[CREW].members == {BEN}
        assert facts.groups_of(BEN) == {ALL, CREW}
        assert facts.groups_of(ANNA) == {ALL}

    def test_deleting_a_group_deletes_the_assignments_to_it_and_on_it(self) -> None:
        facts = after(given_to(BEN, "viewer", ResourceId(CREW)), c.GroupDeleted(CREW))

        assert CREW not in facts.groups
        assert facts.groups_of(ANNA) == {ALL}
        assert not {CREW, BEN} & set(facts.assignments)
        assert TABLE not in facts.assignments_on

    def test_a_missing_group_accepts_no_members(self) -> None:
        with pytest.raises(KeyError):
            after(c.MemberAdded(GroupId("nobody"), BEN))


class TestTokens:
    def test_a_token_acts_as_its_principal(self) -> None:
        assert FACTS.tokens[TOKEN] == Token(ROBOT, 12.5, (TABLE,), ("table.select",), PROJECT)
        assert FACTS.actors_of[ROBOT] == {TOKEN}
        assert ANNA not in FACTS.tokens

    def test_a_token_with_a_parent_is_a_resource(self) -> None:
        facts = after(c.TokenIssued(TokenId("k3"), BEN))

        assert FACTS.resources[ResourceId(TOKEN)] == Resource(ResourceId(TOKEN), "token", PROJECT, TOKEN, None, {})
        assert "k3" not in facts.resources

    def test_revoking_a_token_deletes_it_and_the_assignments_on_it(self) -> None:
        facts = after(given_to(BEN, "viewer", ResourceId(TOKEN)), c.TokenRevoked(TOKEN))

        assert TOKEN not in facts.tokens
        assert TOKEN not in facts.resources
        assert ROBOT not in facts.actors_of
        assert BEN not in facts.assignments

    def test_deleting_a_project_deletes_the_tokens_in_it(self) -> None:
        assert TOKEN not in after(c.ResourceDeleted(PROJECT)).tokens


class TestResources:
    def test_a_resource_has_the_fields_of_its_creation(self) -> None:
        assert FACTS.resources[TABLE] == Resource(TABLE, "table", RAW, "vols", ANNA, {}, {"branch": ("main", "dev")})

    def test_a_resource_needs_an_existing_parent(self) -> None:
        with pytest.raises(KeyError):
            after(c.ResourceCreated(ResourceId("x"), "table", ResourceId("nowhere"), "x"))

    def test_a_resource_that_is_renamed_there_and_back_is_as_before(self) -> None:
        there = after(c.ResourceRenamed(TABLE, LAKE, "elsewhere"))

        assert there.find(("lake", "elsewhere")) == there.resources[TABLE]
        assert there.find(("lake", "raw", "vols")) is None
        assert fold(there, (c.ResourceRenamed(TABLE, RAW, "vols"),), 7) == FACTS

    def test_deleting_a_resource_deletes_everything_below_it(self) -> None:
        facts = after(c.ResourceDeleted(LAKE))

        assert not {LAKE, RAW, TABLE} & set(facts.resources)
        assert not {LAKE, RAW, TABLE} & set(facts.children)
        assert facts.children[PROJECT] == Map({"delays": PIPELINE, TOKEN: TOKEN})
        assert CREW not in facts.assignments
        assert TABLE not in facts.assignments_on

    def test_deleting_a_resource_deletes_its_settings_and_its_model(self) -> None:
        facts = after(c.ResourceDeleted(PROJECT))

        assert PROJECT not in facts.settings
        assert PROJECT not in facts.governs
        assert PIPELINE not in facts.run_as
        assert facts.actors_of.get(ANNA) is None

    def test_an_edge_still_names_a_deleted_resource(self) -> None:
        facts = after(c.ResourceDeleted(TABLE))

        assert facts.resources[PIPELINE].edges("outputs") == (c.Edge(TABLE),)
        assert facts.referrers[TABLE] == {PIPELINE, PORT}

    def test_deleting_a_team_deletes_the_assignments_to_it(self) -> None:
        outside = c.ResourceCreated(ResourceId("op2"), "output_port", PROJECT, "other")
        facts = after(outside, given_to(PrincipalId(TEAM), "consumer", ResourceId("op2")), c.ResourceDeleted(TEAM))

        assert TEAM not in facts.assignments
        assert ResourceId("op2") not in facts.assignments_on

    def test_new_relations_replace_all_former_relations_of_a_resource(self) -> None:
        facts = after(c.RelationsSet(PIPELINE, {"inputs": (c.Edge(RAW, enabled=False), c.Edge(RAW, name="b"))}))

        assert facts.referrers[TABLE] == {PORT}
        assert facts.referrers[RAW] == {PIPELINE}
        assert facts.resources[PIPELINE].edges("inputs") == (c.Edge(RAW, name="b"),)
        assert facts.resources[PIPELINE].edges("outputs") == ()

    def test_new_attributes_replace_all_former_attributes_of_a_resource(self) -> None:
        assert after(c.AttributesSet(TABLE, {"kind": ("view",)})).resources[TABLE].attributes == {"kind": ("view",)}

    def test_the_nearest_setting_above_a_resource_applies_to_it(self) -> None:
        facts = after(c.SettingChanged(ROOT, "plan", "starter"), c.SettingChanged(ROOT, "edition", "x"))

        assert facts.setting(TABLE, "plan") == "growth"
        assert facts.setting(TEAM, "plan") == "starter"
        assert facts.setting(TABLE, "edition") == "x"
        assert facts.setting(TABLE, "unset") is None

    def test_a_resource_is_governed_by_its_project_and_the_tree_of_the_organization(self) -> None:
        facts = after(c.GovernedBy(PROJECT, "y42", "h"), c.GovernedBy(ROOT, "datamesh", "h"))

        assert FACTS.find_governing_models(TABLE) == ("nekt", None)
        assert facts.find_governing_models(TABLE) == ("y42", "datamesh")
        assert facts.find_governing_models(TEAM) == ("nekt", "datamesh")


class TestAssignments:
    def test_an_assignment_has_every_field_of_its_change(self) -> None:
        assert FACTS.assignments[CREW] == Map(
            {
                ("viewer", TABLE, "because"): Assignment(
                    CREW, "viewer", TABLE, "nekt", ANNA, ends=99.0, starts=1.0, reason="because"
                )
            }
        )
        assert list(FACTS.list_assigned_on(TABLE)) == list(FACTS.assignments[CREW].values())
        assert list(FACTS.list_assigned_on(RAW)) == []

    def test_assignments_for_two_reasons_are_two(self) -> None:
        twice = (given_to(BEN, "viewer", RAW), given_to(BEN, "viewer", RAW, "why"))
        facts = after(*twice)

        assert facts.assignments_on[RAW] == Map({BEN: (("viewer", RAW, ""), ("viewer", RAW, "why"))})
        assert after(*reversed(twice)) == facts
        assert list(after(*twice, c.RoleRevoked(BEN, "viewer", RAW)).assignments[BEN]) == [("viewer", RAW, "why")]

    def test_an_assignment_that_is_made_again_replaces_the_first(self) -> None:
        again = c.RoleAssigned(BEN, "viewer", RAW, "y42", ANNA, 5.0)
        facts = after(given_to(BEN, "viewer", RAW), again)

        assert [each.model for each in facts.assignments[BEN].values()] == ["y42"]
        assert facts.assignments_on[RAW] == Map({BEN: (("viewer", RAW, ""),)})

    def test_an_assignment_that_is_granted_and_revoked_leaves_nothing(self) -> None:
        facts = after(given_to(BEN, "viewer", RAW), c.RoleRevoked(BEN, "viewer", RAW))

        assert facts._replace(revision=7) == FACTS

    def test_revoking_an_assignment_that_does_not_exist_changes_nothing(self) -> None:
        never = (
            c.RoleRevoked(CREW, "viewer", TABLE),
            c.RoleRevoked(CREW, "editor", TABLE, "because"),
            c.RoleRevoked(BEN, "viewer", TABLE, "because"),
        )

        assert after(*never)._replace(revision=7) == FACTS

    def test_an_assignment_is_in_force_from_its_start_until_before_its_end(self) -> None:
        held = FACTS.assignments[CREW]["viewer", TABLE, "because"]

        assert [held.holds_at(now) for now in (0.9, 1.0, 98.9, 99.0)] == [False, True, True, False]
        assert replace(held, starts=None, ends=None).holds_at(0.0)


class TestCustomRoles:
    def test_a_custom_role_is_defined_and_deleted(self) -> None:
        assert FACTS.custom_roles == Map({"steward": frozenset(("editor", "viewer"))})
        assert not after(c.CustomRoleDeleted("steward")).custom_roles


class TestRuns:
    def test_a_run_begins_and_ends(self) -> None:
        assert list(FACTS.runs) == [RUN]
        assert (FACTS.runs[RUN].pipeline, FACTS.runs[RUN].run_as) == (PIPELINE, ANNA)
        assert not after(c.RunEnded(RUN, "succeeded")).runs
        with pytest.raises(KeyError):
            after(c.RunEnded(RunId("n9"), "succeeded"))

    def test_a_pipeline_runs_as_the_principal_that_was_set_last(self) -> None:
        facts = after(c.RunAsSet(PIPELINE, BEN))

        assert facts.run_as[PIPELINE] == BEN
        assert facts.actors_of == Map({BEN: frozenset((PIPELINE,)), ROBOT: frozenset((TOKEN,))})


class TestNames:
    def test_a_resource_is_found_by_its_names_from_the_lake_down(self) -> None:
        assert FACTS.full_name(TABLE) == ("lake", "raw", "vols")
        assert FACTS.find(("lake", "raw", "vols")) == FACTS.resources[TABLE]
        assert FACTS.find(("delays",)) == FACTS.resources[PIPELINE]
        assert FACTS.full_name(ROOT) == ("o",)
        assert FACTS.full_name(ResourceId(CREW)) == (CREW,)

    @pytest.mark.parametrize("names", [(), ("raw",), ("lake", "raw", "flights"), ("All",), ("the team",)])
    def test_an_unknown_name_is_not_found(self, names: tuple[str, ...]) -> None:
        assert FACTS.find(names) is None
        assert Snapshot().find(names) is None
