"""Own types of a model as subjects: a rule without `to` concerns them too, a role only if it names them."""

from headgate.decision.conditions import CONDITIONS
from headgate.model.load import load_model
from tests.fakes.small_organization import ACTIONS

SOURCE = """
model: m
version: 1
types:
  organization: {under: []}
  crew: {own: true, under: [organization]}
roles:
  assignee: {on: [crew]}
  reader: {on: [organization, crew], to: [user, crew], actions: {organization: [describe]}}
members: {crew: [assignee]}
assign:
  - {holder: reader, roles: [assignee, reader], on: [organization, crew]}
"""


def test_an_assign_rule_without_kinds_of_subject_also_concerns_own_types() -> None:
    [rule] = load_model(SOURCE, ACTIONS, "m.yaml", CONDITIONS).assign

    assert "crew" in rule.to


def test_a_role_without_kinds_of_subject_is_not_for_own_types() -> None:
    model = load_model(SOURCE, ACTIONS, "m.yaml", CONDITIONS)

    assert "crew" not in model.roles["assignee"].to
