"""The atomic model: each of its roles grants one action of the vocabulary and no other."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from headgate.decision.conditions import CONDITIONS
from headgate.decision.reference import decide
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, OrganizationCreated, PrincipalAdded, ResourceCreated, RoleAssigned
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.load import diagnose, load_model
from headgate.model.vocabulary import load_actions
from tests.model.atomic import atomic

FILE = Path(__file__).resolve().parents[1] / "models" / "atomic.yaml"

_ROOM = files("headgate.model")
ACTIONS = load_actions((_ROOM / "actions.yaml").read_text())
SHIPPED = [
    load_model((_ROOM / "models" / f"{name}.yaml").read_text(), ACTIONS, name, CONDITIONS) for name in ACTIONS.models
]
ATOMIC = load_model(FILE.read_text(), ACTIONS, FILE.name, CONDITIONS)

ANN, BOB = PrincipalId("ann"), PrincipalId("bob")


def line(type: str) -> tuple[str, ...]:
    """Return the types from a root type down to this one, each below a type that may be its parent."""
    above = next((parent for parent in ATOMIC.types[type].parents if parent != type), None)
    return (type,) if above is None else (*line(above), type)


def world(type: str, *more: Change) -> Snapshot:
    """Return two users and one resource of each type from the root down to this one; ids are the names of the types."""
    root, *below = line(type)
    changes: list[Change] = [OrganizationCreated(ResourceId(root), ATOMIC.name, ATOMIC.hash, root)]
    changes += (PrincipalAdded(each, "user") for each in (ANN, BOB))
    for parent, each in zip((root, *below), below, strict=False):
        changes.append(ResourceCreated(ResourceId(each), each, ResourceId(parent), each))
    return fold(Snapshot(), [*changes, *more], 1)


def assigned(role: str, type: str) -> RoleAssigned:
    return RoleAssigned(ANN, role, ResourceId(type), ATOMIC.name)


def may(facts: Snapshot, action: str, type: str, role: str | None = None) -> bool:
    question = Question(Caller(ANN), action, ResourceId(type), role=role, subject=BOB if role else None)
    return decide({ATOMIC.name: ATOMIC}, facts, question, now=0.0).allowed


class TestTheAtomicModel:
    def test_the_atomic_model_is_generated_from_the_vocabulary(self, generated: Callable[[Path, str], None]) -> None:
        generated(FILE, atomic(ACTIONS, SHIPPED))

    def test_the_atomic_model_has_no_diagnostics(self) -> None:
        assert diagnose(FILE.read_text(), ACTIONS, FILE.name, CONDITIONS) == ()

    def test_the_atomic_model_has_a_role_for_every_action_that_a_model_can_give(self) -> None:
        assert ATOMIC.roles.keys() == {*ACTIONS, "root"} - {"assignment.add_second"}

    @pytest.mark.parametrize("type", ACTIONS.types)
    def test_a_role_of_the_atomic_model_gives_its_action_and_no_other(self, type: str) -> None:
        for role in ACTIONS.of(type):
            facts = world(type, assigned(role, type))

            assert [action for action in ACTIONS.of(type) if may(facts, action, type)] == [role]

    @pytest.mark.parametrize("type", ACTIONS.types)
    def test_a_role_of_the_atomic_model_applies_below_its_resource_and_not_above(self, type: str) -> None:
        *above, _ = line(type)

        for place in above:
            held = world(type, *(assigned(role, place) for role in ACTIONS.of(type)))
            assert all(may(held, action, type) for action in ACTIONS.of(type))
            assert not any(may(held, action, place) for action in ACTIONS.of(place))
            others = world(type, *(assigned(role, place) for role in ACTIONS.of(place)))
            assert not any(may(others, action, type) for action in ACTIONS.of(type))
            below = world(type, *(assigned(role, type) for role in ACTIONS.of(type)))
            assert not any(may(below, action, place) for action in ACTIONS.of(place))

    @pytest.mark.parametrize("type", ACTIONS.types)
    def test_the_root_role_assigns_every_role_and_does_nothing_else(self, type: str) -> None:
        facts = world(type, assigned("root", line(type)[0]))

        assert all(may(facts, "assignment.add", type, role) for role in ACTIONS.of(type))
        assert all(may(facts, "assignment.remove", type, role) for role in ACTIONS.of(type))
        assert [action for action in ACTIONS.of(type) if may(facts, action, type)] == []

    @pytest.mark.parametrize("type", ACTIONS["assignment.add"].on)
    def test_a_role_that_adds_assignments_does_not_remove_them(self, type: str) -> None:
        facts = world(type, assigned("assignment.add", type))

        assert all(may(facts, "assignment.add", type, role) for role in ACTIONS.of(type))
        assert not any(may(facts, "assignment.remove", type, role) for role in ACTIONS.of(type))
