"""The roles that are assigned on a new resource: to its creator, and for future grants above it."""

import pytest
import yaml

from headgate.conformance.language import words_of
from headgate.conformance.steps import perform
from headgate.conformance.world_builder import build
from headgate.decision.conditions import CONDITIONS
from headgate.decision.evaluator import Reference
from headgate.facts.ids import ResourceId
from headgate.model.load import load_model
from tests.fakes.small_organization import ACTIONS

MODEL = """
model: m
version: 1
types:
  organization: {under: []}
  note: {own: true, under: [organization]}
roles:
  maker: {on: [organization], actions: {organization: [create_note]}}
  keeps: {on: [organization], single: true}
  reads: {on: [organization]}
  keeper: {on: [note], single: true, actions: {note: [delete]}}
  reader: {on: [note], actions: {note: [describe]}}
spread: [{roles: [maker], from: [organization]}]
assign: [{holder: maker, roles: [maker, keeps, reads, keeper, reader], on: [organization, note]}]
creators:
  - {types: [note], role: keeper}
  - {types: [note], role: keeper, future: keeps}
  - {types: [note], role: reader, future: reads}
"""

WORLD = """
system: m
users: [{id: ana, org_role: maker}, {id: ben, org_role: null}, {id: eva, org_role: null}]
resources: [{id: O, type: organization, parent: null}]
"""

CREATED = {"create": {"id": "N", "type": "note", "parent": "O"}, "as": "ana"}


def holders(*given: tuple[str, str]) -> set[tuple[str, str]]:
    """Return the subject and the role of each assignment on a note that ana creates after these grants."""
    language = words_of(load_model(MODEL, ACTIONS, "m.yaml", CONDITIONS), ACTIONS)
    world = build(yaml.safe_load(WORLD), language, Reference)
    for subject, role in given:
        world = perform(world, {"grant": {"to": subject, "role": role, "on": "O"}})
    world = perform(world, CREATED)
    return {(each.subject, each.role) for each in world.facts(ResourceId("O")).list_assigned_on(ResourceId("N"))}


def test_the_creator_is_assigned_the_role_of_creators() -> None:
    assert holders() == {("ana", "keeper")}


def test_a_future_grant_of_a_role_with_a_single_holder_takes_the_place_of_the_creator() -> None:
    assert holders(("ben", "keeps")) == {("ben", "keeper")}


@pytest.mark.parametrize("readers", [("ben",), ("ben", "eva")])
def test_every_future_grant_of_another_role_gives_it_beside_the_creator(readers: tuple[str, ...]) -> None:
    assert holders(*((reader, "reads") for reader in readers)) == {
        ("ana", "keeper"),
        *((reader, "reader") for reader in readers),
    }
