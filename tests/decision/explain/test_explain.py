"""Explanations: every reason of an allow, and the smallest fix of a deny, under each shipped model."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

import pytest

from headgate.decision.conditions import CONDITIONS
from headgate.decision.engine.engine import Engine
from headgate.decision.explain.explain import explain, is_subject_known, smallest_fixes
from headgate.decision.types import DenyReason, Explanation, Fix, GrantPath, Question
from headgate.facts import changes as c
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    AccessApproved,
    AccessRequested,
    Change,
    CustomRoleDefined,
    Edge,
    GroupCreated,
    MemberAdded,
    OrganizationCreated,
    PrincipalAdded,
    ResourceCreated,
    RoleAssigned,
    SettingChanged,
    TokenIssued,
)
from headgate.facts.fold import fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId, TokenId
from headgate.facts.snapshot import Snapshot
from headgate.model.load import load_model
from headgate.model.model import Model
from tests.fakes.small_organization import (
    ACTIONS,
    ADMIN,
    CREW,
    DELAYS,
    FLIGHTS,
    MEMBER,
    MODELS,
    NOW,
    OTHER,
    OWNER,
    PLANES,
    RAW,
    ROOT,
    SALARIES,
    SECRET,
    STRANGER,
    assigned,
    snapshot,
)

Fixes = list[set[tuple[str, ResourceId]]]


def fixes(action: str, resource: ResourceId, *held: tuple[str, ResourceId], who: PrincipalId = MEMBER) -> Fixes:
    """Return the fixes for a principal that holds these roles."""
    facts = snapshot(*(assigned(who, role, place) for role, place in held))
    return [pairs(fix) for fix in explain(MODELS, facts, Question(Caller(who), action, resource), NOW).fixes]


def pairs(fix: Fix) -> set[tuple[str, ResourceId]]:
    return {(each.role, each.resource) for each in fix.assignments}


class TestTheSmallestFix:
    def test_the_smallest_fix_is_on_the_table_and_not_on_its_layer(self) -> None:
        assert fixes("table.insert", FLIGHTS, ("viewer", RAW)) == [{("editor", FLIGHTS)}]

    def test_the_smallest_fix_of_a_pipeline_is_on_every_declared_table(self) -> None:
        assert fixes("query.trigger", DELAYS, ("viewer", RAW)) == [{("editor", FLIGHTS), ("editor", PLANES)}]

    def test_the_smallest_fix_omits_roles_that_the_caller_holds(self) -> None:
        held = ("viewer", RAW), ("editor", FLIGHTS)

        assert fixes("query.trigger", DELAYS, *held) == [{("editor", PLANES)}]

    def test_a_caller_that_may_not_see_the_resource_gets_no_fix(self) -> None:
        assert fixes("table.select", SALARIES) == []

    def test_a_caller_that_only_sees_the_layer_gets_a_fix(self) -> None:
        assert fixes("database.create_table", SECRET, ("viewer", SALARIES)) == [{("editor", SECRET)}]

    def test_the_smallest_fix_begins_with_the_role_that_the_others_depend_on(self) -> None:
        question = Question(Caller(STRANGER), "table.select", FLIGHTS)

        [fix] = smallest_fixes(MODELS, snapshot(), question, NOW)

        assert [(each.role, each.resource) for each in fix.assignments] == [("member", ROOT), ("viewer", FLIGHTS)]
        assert all(each.approvers == (ADMIN, OWNER) for each in fix.assignments)

    def test_the_smallest_fix_is_the_membership_alone_if_the_other_role_is_held(self) -> None:
        facts = snapshot(assigned(STRANGER, "viewer", FLIGHTS))

        [fix] = smallest_fixes(MODELS, facts, Question(Caller(STRANGER), "table.select", FLIGHTS), NOW)

        assert pairs(fix) == {("member", ROOT)}

    def test_the_smallest_fix_covers_the_resources_that_the_question_names(self) -> None:
        facts = snapshot(assigned(MEMBER, "viewer", RAW), assigned(MEMBER, "viewer", SECRET))
        on = {"inputs": (FLIGHTS, SALARIES), "output_layers": (RAW,)}
        question = Question(Caller(MEMBER), "project.create_query", ResourceId("project"), on)

        [fix] = explain(MODELS, facts, question, NOW).fixes

        # A role on the layer covers the table in it too.
        assert pairs(fix) == {("editor", RAW), ("editor", SALARIES)}

    def test_the_fix_of_an_assignment_to_a_stranger_makes_the_stranger_a_member(self) -> None:
        question = Question(Caller(ADMIN), "assignment.add", FLIGHTS, role="viewer", subject=STRANGER)

        [fix] = explain(MODELS, snapshot(), question, NOW).fixes

        assert (fix.subject, pairs(fix)) == (STRANGER, {("member", ROOT)})

    def test_the_fix_of_an_assignment_is_a_role_that_may_assign(self) -> None:
        facts = snapshot(assigned(MEMBER, "viewer", FLIGHTS))
        question = Question(Caller(MEMBER), "assignment.add", FLIGHTS, role="viewer", subject=OTHER)

        [fix] = explain(MODELS, facts, question, NOW).fixes

        assert pairs(fix) == {("manager", FLIGHTS)}

    def test_an_allowed_question_has_no_fix(self) -> None:
        facts = snapshot(assigned(MEMBER, "viewer", FLIGHTS))

        assert smallest_fixes(MODELS, facts, Question(Caller(MEMBER), "table.select", FLIGHTS), NOW) == ()

    @pytest.mark.parametrize(("action", "code"), [("group.delete", "condition"), ("group.unheard", "unknown-action")])
    def test_a_deny_that_no_assignment_changes_has_no_fix(self, action: str, code: str) -> None:
        found = explain(MODELS, snapshot(), Question(Caller(OWNER), action, ResourceId("All")), NOW)

        assert found.fixes == ()
        assert found.decision.missing is not None
        assert found.decision.missing.code == code

    def test_an_action_that_no_model_has_is_unknown_on_hidden_and_missing_resources_too(self) -> None:
        for place in (FLIGHTS, SALARIES, ResourceId("missing")):
            found = explain(MODELS, snapshot(), Question(Caller(MEMBER), "table.selct", place), NOW)

            assert found.decision.missing == DenyReason("unknown-action", place)

    def test_a_deny_of_a_narrowed_token_has_no_fix(self) -> None:
        token = TokenIssued(TokenId("t"), MEMBER, None, (PLANES,))
        facts = snapshot(token, assigned(MEMBER, "viewer", RAW))

        assert smallest_fixes(MODELS, facts, Question(Caller(MEMBER, token.token), "table.select", FLIGHTS), NOW) == ()


class TestAnAllow:
    def test_an_allow_names_every_path_that_leads_to_it(self) -> None:
        grants = (assigned(CREW, "viewer", RAW), assigned(MEMBER, "viewer", FLIGHTS))
        facts = snapshot(MemberAdded(CREW, MEMBER), *grants)

        paths = explain(MODELS, facts, Question(Caller(MEMBER), "table.select", FLIGHTS), NOW).decision.paths

        assert set(paths) == {GrantPath("viewer", CREW, "viewer", RAW), GrantPath("viewer", MEMBER, "viewer", FLIGHTS)}

    def test_an_allow_of_a_pipeline_names_each_of_the_weakest_tables(self) -> None:
        facts = snapshot(assigned(MEMBER, "viewer", RAW))

        paths = explain(MODELS, facts, Question(Caller(MEMBER), "query.describe", DELAYS), NOW).decision.paths

        assert {path.weakest for path in paths} == {FLIGHTS, PLANES}

    def test_an_allow_of_a_pipeline_names_no_stronger_table(self) -> None:
        facts = snapshot(assigned(MEMBER, "viewer", RAW), assigned(MEMBER, "editor", FLIGHTS))

        paths = explain(MODELS, facts, Question(Caller(MEMBER), "query.describe", DELAYS), NOW).decision.paths

        assert {path.weakest for path in paths} == {PLANES}


class TestToSomebodyWhoMayNotKnow:
    def test_a_hidden_resource_is_explained_like_a_missing_one(self) -> None:
        hidden = explain(MODELS, snapshot(), Question(Caller(MEMBER), "table.select", SALARIES), NOW)

        assert hidden.decision.missing == DenyReason("no-resource", SALARIES)
        assert not hidden.discoverable

    def test_a_deny_on_a_publicly_known_resource_gives_the_reason_without_a_fix(self) -> None:
        for place, action in (
            (ROOT, "organization.see_settings"),
            (ResourceId("project"), "project.create_connection"),
        ):
            found = explain(MODELS, snapshot(), Question(Caller(MEMBER), action, place), NOW)

            assert found.decision.missing is not None
            assert found.decision.missing.code == "no-role"
            assert found.fixes == ()


def shipped(name: str) -> Model:
    text = (files("headgate.model") / "models" / f"{name}.yaml").read_text(encoding="utf-8")
    return load_model(text, ACTIONS, f"{name}.yaml", CONDITIONS)


ORG, ANN, BEN, CAT = ResourceId("org"), PrincipalId("ann"), PrincipalId("ben"), PrincipalId("cat")


def organization(model: str, *more: Change) -> Snapshot:
    """An organization of Ann, Ben and Cat under a model."""
    people = (PrincipalAdded(who, "user") for who in (ANN, BEN, CAT))
    return fold(Snapshot(), (OrganizationCreated(ORG, model, ""), *people, *more), 1)


def made(id: str, type: str, parent: str, **relations: str) -> ResourceCreated:
    edges = {name: (Edge(ResourceId(target)),) for name, target in relations.items()}
    return ResourceCreated(ResourceId(id), type, ResourceId(parent), id, None, edges)


def role(subject: SubjectId, name: str, place: str, model: str, reason: str = "") -> RoleAssigned:
    return RoleAssigned(subject, name, ResourceId(place), model, reason=reason)


def told(models: Mapping[str, Model], facts: Snapshot, who: PrincipalId, action: str, place: str) -> Explanation:
    return explain(models, facts, Question(Caller(who), action, ResourceId(place)), NOW)


class TestUnderOnehouse:
    MODELS = {"onehouse": shipped("onehouse")}  # noqa: RUF012 (a model in force, not a default)
    THINGS = (
        made("p", "project", "org"),
        made("c", "cluster", "p"),
        made("l", "lake", "p"),
        made("d", "database", "l"),
        made("t", "table", "d", services_cluster="c"),
        role(ANN, "admin", "p", "onehouse"),
    )

    def test_a_user_outside_the_project_needs_a_role_on_it_first(self) -> None:
        facts = organization("onehouse", *self.THINGS)
        question = Question(Caller(BEN), "table.select", ResourceId("t"))

        [fix] = smallest_fixes(self.MODELS, facts, question, NOW)

        assert [(each.role, each.resource) for each in fix.assignments] == [("member", "p"), ("SELECT", "t")]

    def test_a_held_role_without_project_membership_needs_only_the_membership(self) -> None:
        facts = organization("onehouse", *self.THINGS, role(BEN, "SELECT", "d", "onehouse"))

        [fix] = smallest_fixes(self.MODELS, facts, Question(Caller(BEN), "table.select", ResourceId("t")), NOW)

        assert pairs(fix) == {("member", "p")}

    def test_each_resource_of_a_fix_gets_the_role_that_is_needed_there(self) -> None:
        grants = (role(BEN, "member", "p", "onehouse"), role(BEN, "DESCRIBE", "l", "onehouse"))
        facts = organization("onehouse", *self.THINGS, *grants, role(BEN, "viewer", "c", "onehouse"))
        given = {"kind": ("compaction",)}
        question = Question(Caller(BEN), "table.create_table_service", ResourceId("t"), given=given)

        [fix] = explain(self.MODELS, facts, question, NOW).fixes

        assert pairs(fix) == {("ALTER", "t"), ("user", "c")}

    def test_the_smallest_fix_is_the_privilege_that_gives_the_least_besides(self) -> None:
        facts = organization(
            "onehouse", *self.THINGS, role(BEN, "member", "p", "onehouse"), role(BEN, "DESCRIBE", "t", "onehouse")
        )

        [fix] = told(self.MODELS, facts, BEN, "table.select", "t").fixes

        assert pairs(fix) == {("SELECT", "t")}

    def test_a_grant_to_a_group_requires_a_right_on_the_group(self) -> None:
        crew = GroupId("crew")
        grants = (role(BEN, "member", "p", "onehouse"), role(BEN, "manager", "c", "onehouse"))
        in_project = role(crew, "member", "p", "onehouse")
        account = role(CAT, "manager", "crew", "onehouse")
        knows = role(BEN, "member", "crew", "onehouse")
        facts = organization("onehouse", *self.THINGS, GroupCreated(crew), *grants, in_project, account, knows)
        question = Question(Caller(BEN), "assignment.add", ResourceId("c"), role="viewer", subject=crew)

        [fix] = explain(self.MODELS, facts, question, NOW).fixes

        assert pairs(fix) == {("manager", "crew")}
        assert fix.assignments[0].approvers == (CAT,)


class TestUnderDataMeshManager:
    MODELS = {"datamesh": shipped("datamesh")}  # noqa: RUF012 (a model in force, not a default)
    THINGS = (
        made("team", "team", "org"),
        made("product", "data_product", "org", owner="team"),
        made("port", "output_port", "product"),
        *(role(who, "member", "org", "datamesh") for who in (BEN, CAT)),
        role(ANN, "owner", "org", "datamesh"),
        role(CAT, "owner", "team", "datamesh"),
    )

    def test_the_smallest_fix_is_a_role_in_the_team_that_owns_the_resource(self) -> None:
        facts = organization("datamesh", *self.THINGS)

        [fix] = told(self.MODELS, facts, BEN, "data_product.edit", "product").fixes

        assert pairs(fix) == {("editor", "team")}
        assert fix.assignments[0].approvers == (ANN, CAT)

    def test_a_custom_role_can_be_the_smallest_fix(self) -> None:
        custom = (
            CustomRoleDefined("scribe", ("RESOURCES_EDIT",)),
            SettingChanged(ORG, "role_mode", "custom"),
            CustomRoleDefined("owner", ("TEAM_MEMBER_ADD",)),
        )
        facts = organization("datamesh", *self.THINGS, *custom)

        [fix] = told(self.MODELS, facts, BEN, "data_product.edit", "product").fixes

        assert pairs(fix) == {("scribe", "team")}

    def test_no_role_approves_an_access_that_is_already_decided(self) -> None:
        filed = AccessRequested(ResourceId("access"), ResourceId("port"), BEN, BEN)
        facts = organization("datamesh", *self.THINGS, filed)
        approved = fold(facts, (AccessApproved(filed.access, NOW, None),), 2)

        assert pairs(*told(self.MODELS, facts, BEN, "access.approve", "access").fixes) == {("approver", "team")}
        assert told(self.MODELS, approved, BEN, "access.approve", "access").fixes == ()


class TestUnderY42:
    MODELS = {"y42": shipped("y42")}  # noqa: RUF012 (a model in force, not a default)

    def test_the_smallest_fix_is_on_the_asset_and_not_on_its_space(self) -> None:
        things = (
            made("space", "project", "org"),
            made("m", "module", "space"),
            made("i", "integration", "m"),
            made("t", "table", "i"),
            role(ANN, "administrator", "org", "y42"),
            role(BEN, "guest", "org", "y42"),
            role(BEN, "guest", "space", "y42"),
        )
        facts = organization("y42", *things)

        [fix] = told(self.MODELS, facts, BEN, "table.select", "t").fixes

        assert pairs(fix) == {("viewer", "t")}


class TestTeamsInTeams:
    TEXT = """
model: m
version: 1
types:
  organization: {under: []}
  team: {under: [organization]}
  table: {under: [organization]}
roles:
  owner: {on: [organization], actions: {team: [describe]}}
  member: {on: [team], to: [user, team]}
  reader: {on: [table], to: [user, team], actions: {table: [select]}}
members: {team: [member]}
spread: [{roles: [owner], from: [organization]}]
assign: [{holder: owner, roles: [owner, member, reader], on: [organization, team, table]}]
"""

    def test_a_team_of_a_team_is_known_to_recipients_that_may_discover_it(self) -> None:
        root, inner, outer, table = (ResourceId(each) for each in ("o", "inner", "outer", "t"))
        ann, boss = PrincipalId("ann"), PrincipalId("boss")
        models = {"m": load_model(self.TEXT, ACTIONS, "m.yaml", ())}
        changes = (
            c.OrganizationCreated(root, "m", ""),
            *(c.PrincipalAdded(each, "user") for each in (ann, boss)),
            *(c.ResourceCreated(each, "team", root, each) for each in (inner, outer)),
            c.ResourceCreated(table, "table", root, table),
            c.RoleAssigned(ann, "member", inner, "m"),
            c.RoleAssigned(inner, "member", outer, "m"),
            c.RoleAssigned(outer, "reader", table, "m"),
            c.RoleAssigned(boss, "owner", root, "m"),
        )
        facts, question = fold(Snapshot(), changes, 1), Question(Caller(ann), "table.select", table)

        answers = Engine(models, facts)
        [path] = explain(models, facts, question, 0.0, answers).decision.paths
        assert (path.role, path.subject) == ("reader", outer)
        assert not is_subject_known(answers, path, Caller(ann), 0.0)
        assert is_subject_known(answers, path, Caller(boss), 0.0)
        assert is_subject_known(answers, replace(path, subject=inner), Caller(ann), 0.0)
        assert not is_subject_known(answers, replace(path, subject=inner), Caller(PrincipalId("stranger")), 0.0)
