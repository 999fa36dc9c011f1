"""The smallest fix: the weakest role, on as little as possible."""

from headgate.decision.explain import explain
from headgate.decision.records import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from tests.fakes.world import DELAYS, FLIGHTS, MEMBER, MODELS, NOW, PLANES, RAW, SALARIES, SECRET, assigned, snapshot

Fixes = list[set[tuple[str, ResourceId]]]


def fixes(action: str, resource: ResourceId, *held: tuple[str, ResourceId], who: PrincipalId = MEMBER) -> Fixes:
    """The fixes for somebody who holds these roles."""
    facts = snapshot(*(assigned(who, role, place) for role, place in held))
    found = explain(MODELS, facts, Question(Caller(who), action, resource), NOW).fixes
    return [{(each.role, each.resource) for each in fix.assignments} for fix in found]


class TestTheSmallestFix:
    def test_is_on_the_table_and_not_on_its_layer(self) -> None:
        assert fixes("table.insert", FLIGHTS, ("viewer", RAW)) == [{("editor", FLIGHTS)}]

    def test_of_a_pipeline_is_on_everything_it_touches(self) -> None:
        assert fixes("query.trigger", DELAYS, ("viewer", RAW)) == [{("editor", FLIGHTS), ("editor", PLANES)}]

    def test_leaves_out_what_is_held(self) -> None:
        held = ("viewer", RAW), ("editor", FLIGHTS)

        assert fixes("query.trigger", DELAYS, *held) == [{("editor", PLANES)}]

    def test_is_not_told_to_who_may_not_know(self) -> None:
        assert fixes("table.select", SALARIES) == []

    def test_is_told_to_who_sees_only_the_layer(self) -> None:
        assert fixes("database.create_table", SECRET, ("viewer", SALARIES)) == [{("editor", SECRET)}]
