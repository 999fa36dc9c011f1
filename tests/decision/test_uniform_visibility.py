"""Whether under a model all tables of a database are equally visible, unless an assignment on one of them differs."""

from dataclasses import replace

import pytest

from headgate.decision.uniform_visibility import is_visibility_uniform
from headgate.model.model import Condition, Model, PropagationRule, RequiredRole, Requirement, Setting
from tests.fakes.small_organization import DATAMESH, NEKT, ONEHOUSE, Y42


def with_spread(term: Condition) -> Model:
    rule = PropagationRule(frozenset({"member"}), frozenset({"database"}), when=(term,))
    return replace(NEKT, spread=(*NEKT.spread, rule))


@pytest.mark.parametrize("model", [NEKT, Y42, ONEHOUSE, DATAMESH], ids=lambda model: model.name)
@pytest.mark.parametrize("type", ["database", "table"])
def test_visibility_is_uniform_under_every_shipped_model(model: Model, type: str) -> None:
    assert is_visibility_uniform(model, type)


@pytest.mark.parametrize("root", ["self", "parent", "named"])
def test_a_condition_on_each_table_prevents_uniform_visibility(root: str) -> None:
    assert not is_visibility_uniform(with_spread(Condition(root, "kept", ("open",))), "table")


@pytest.mark.parametrize(("on", "same"), [("organization", True), ("database", False), ("table", False)])
def test_visibility_is_uniform_unless_a_switch_is_set_below_the_organization(on: str, same: bool) -> None:  # noqa: FBT001
    model = with_spread(Condition("setting", "open", ("yes",)))

    known = {**NEKT.settings, "open": Setting("open", (on,), ("yes", "no"), "yes")}

    assert is_visibility_uniform(replace(model, settings=known), "table") is same


def test_an_optional_requirement_on_a_relation_prevents_uniform_visibility() -> None:
    more = Requirement(
        (), (RequiredRole("self", None, "viewer"), RequiredRole("self", "inputs", "viewer", optional=True))
    )

    assert not is_visibility_uniform(replace(NEKT, needs={**NEKT.needs, "table.select": (more,)}), "table")
