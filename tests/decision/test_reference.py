"""Single decisions that occur too rarely in generated organizations."""

from headgate.decision.conditions import CONDITIONS
from headgate.decision.explain.explain import explain
from headgate.decision.reference import decide
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import GovernedBy, PrincipalRemoved, RelationsSet, ResourceDeleted, RoleAssigned
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from headgate.model.load import load_model
from tests.fakes.small_organization import (
    ACTIONS,
    ADMIN,
    ALL,
    DELAYS,
    FLIGHTS,
    LOAD,
    MEMBER,
    MODELS,
    NEKT,
    NOW,
    OWNER,
    PLANES,
    PROJECT,
    RAW,
    STRANGER,
    allows,
    ask,
    assigned,
    edges,
    snapshot,
)

TWO_ROLES = """\
model: two
version: 1
types:
  organization: {under: []}
  project: {under: [organization]}
  lake: {under: [project]}
  database: {under: [lake]}
  table: {under: [database]}
  source: {under: [project]}
roles:
  member: {on: [organization], to: [user]}
  reader: {on: [table], to: [user], actions: {source: [describe]}}
  writer: {on: [table], to: [user], actions: {source: [edit]}}
spread: []
derived:
  - {types: [source], weakest_over: [outputs], when_empty: [output_layers]}
needs: {}
assign:
  - {holder: member, roles: [member], on: [organization]}
  - {holder: reader, roles: [reader, writer], on: [table]}
standing:
  - {on: organization, roles: [member], kinds: [user]}
newcomer: member
"""
"""Neither role includes the other, so that neither is weaker."""


def test_an_assignment_expires_at_its_end() -> None:
    assert not allows(snapshot(assigned(MEMBER, "viewer", RAW, NOW)), MEMBER, "table.select", FLIGHTS)
    assert allows(snapshot(assigned(MEMBER, "viewer", RAW, NOW + 1)), MEMBER, "table.select", FLIGHTS)


def test_a_principal_without_a_role_on_the_organization_is_allowed_nothing() -> None:
    facts = snapshot(assigned(STRANGER, "manager", RAW), assigned(ALL, "viewer", FLIGHTS))

    assert not allows(facts, STRANGER, "table.select", FLIGHTS)
    assert allows(facts, MEMBER, "table.select", FLIGHTS)


def test_a_pipeline_gives_only_the_roles_held_on_every_declared_table() -> None:
    two = {"two": load_model(TWO_ROLES, ACTIONS, "two.yaml", CONDITIONS)}
    mixed = [("member", "organization"), ("reader", FLIGHTS), ("writer", PLANES)]
    governed = GovernedBy(PROJECT, "two", two["two"].hash)
    facts = snapshot(governed, *(_of("two", role, place) for role, place in mixed))
    both = snapshot(governed, *(_of("two", role, place) for role, place in (*mixed, ("reader", PLANES))))

    for action in ("source.describe", "source.edit"):
        assert not decide(two, facts, Question(Caller(MEMBER), action, LOAD), NOW).allowed
    assert decide(two, both, Question(Caller(MEMBER), "source.describe", LOAD), NOW).allowed
    assert not decide(two, both, Question(Caller(MEMBER), "source.edit", LOAD), NOW).allowed


def _of(model: str, role: str, place: str) -> RoleAssigned:
    return RoleAssigned(MEMBER, role, ResourceId(place), model)


def test_pipelines_that_name_each_other_end_in_a_deny() -> None:
    facts = snapshot(
        assigned(MEMBER, "manager", RAW),
        RelationsSet(LOAD, {"outputs": edges(DELAYS)}),
        RelationsSet(DELAYS, {"outputs": edges(LOAD)}),
    )

    assert not allows(facts, MEMBER, "source.describe", LOAD)
    assert allows(facts, OWNER, "source.delete", LOAD)


def test_an_owner_can_delete_a_pipeline_that_names_a_deleted_table() -> None:
    facts = snapshot(assigned(MEMBER, "manager", RAW), ResourceDeleted(FLIGHTS))

    assert allows(facts, OWNER, "query.delete", DELAYS)
    assert not allows(facts, MEMBER, "query.describe", DELAYS)


def test_a_decision_names_the_weakest_table() -> None:
    facts = snapshot(assigned(MEMBER, "manager", FLIGHTS), assigned(MEMBER, "viewer", PLANES))
    decision = ask(facts, MEMBER, "query.describe", DELAYS)

    assert {path.weakest for path in decision.paths} == {PLANES}
    assert {path.assigned_on for path in decision.paths} == {PLANES}
    assert (decision.model, decision.revision) == (f"{NEKT.name} {NEKT.version}", 1)


def test_a_deny_names_the_missing_role_and_its_resource() -> None:
    missing = ask(snapshot(assigned(MEMBER, "viewer", RAW)), MEMBER, "table.insert", FLIGHTS).missing

    assert missing is not None
    assert (missing.code, missing.resource, missing.roles[0]) == ("no-role", FLIGHTS, "editor")


def test_a_fix_without_an_approver_is_not_offered() -> None:
    facts = snapshot(assigned(MEMBER, "viewer", RAW))
    question = Question(Caller(MEMBER), "table.insert", FLIGHTS)
    alone = fold(facts, (PrincipalRemoved(OWNER), PrincipalRemoved(ADMIN)), 2)

    assert explain(MODELS, facts, question, NOW).fixes
    assert explain(MODELS, alone, question, NOW).fixes == ()
