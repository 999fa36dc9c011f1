"""Small changes: a denial depends on the world if one assignment, membership or setting turns it into an allow."""

import pytest
import yaml

from headgate.conformance.language import words_of
from headgate.conformance.runner import ConformanceCase
from headgate.conformance.small_changes import depends_on_world
from headgate.conformance.world import World
from headgate.conformance.world_builder import build
from headgate.control.kernel.parsing import JsonObject
from headgate.decision.engine.engine import Engine
from tests.fakes.small_organization import ACTIONS, NEKT

WORLD = """
settings: {w: {plan: growth}}
users: [{id: ann, org_role: member}, {id: bob, org_role: admin}, {id: eve, org_role: null}]
groups: [{id: crew, type: group, parent: w, members: [bob]}, {id: all, type: group, parent: w, built_in: true}]
grants: [{to: crew, role: viewer, "on": T}]
resources:
  - {id: w, type: workspace, parent: null}
  - {id: L, type: layer, parent: w}
  - {id: T, type: table, parent: L}
  - {id: U, type: table, parent: L}
  - {id: Q, type: query, parent: w, inputs: [U], outputs: []}
"""


@pytest.fixture(scope="module")
def world() -> World:
    return build(yaml.safe_load(WORLD), words_of(NEKT, ACTIONS), Engine)


def case(ask: str, with_: JsonObject, *given: JsonObject, expect: str = "deny") -> ConformanceCase:
    actor, action, resource = ask.split()
    return ConformanceCase(
        "A", given, {"actor": actor, "action": action, "resource": resource, "with": with_}, expect, ""
    )


DEPENDING = {
    "an assignment of the caller": case("ann edit L", {}),
    "an assignment on a resource above": case("ann delete T", {}),
    "an assignment on what a relation names": case("ann see Q", {}),
    "an entrance of the subject": case("bob grant L", {"role": "viewer", "to": "eve"}),
    "a setting": case("bob grant L", {"role": "viewer", "to": "ann"}, {"set": {"on": "w", "plan": "starter"}}),
    "an expected allow": case("bob see w", {}, expect="allow"),
}
REGARDLESS = {
    "an action that the type does not have": case("ann add_stream T", {}),
    "a role that is never assigned there": case("bob grant L", {"role": "owner", "to": "ann"}),
    "a group that is built in": case("bob add_member all", {"user": "ann"}),
}


class TestADenial:
    @pytest.mark.parametrize("depending", DEPENDING.values(), ids=DEPENDING)
    def test_a_denial_that_a_small_change_flips_depends_on_the_world(
        self, world: World, depending: ConformanceCase
    ) -> None:
        assert depends_on_world(world, depending)

    @pytest.mark.parametrize("regardless", REGARDLESS.values(), ids=REGARDLESS)
    def test_a_denial_that_no_small_change_flips_does_not(self, world: World, regardless: ConformanceCase) -> None:
        assert not depends_on_world(world, regardless)

    def test_the_world_stays_as_it_is(self, world: World) -> None:
        before = {log: engine.facts for log, engine in world.engines.items()}

        assert depends_on_world(world, case("ann edit L", {}))
        assert {log: engine.facts for log, engine in world.engines.items()} == before
