"""The diagram of a model's propagation shows each rule as arrows between types, and stays small."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from headgate.model.diagram import draw_propagation
from headgate.model.model import Model
from tests.fakes.small_organization import DATAMESH, NEKT, ONEHOUSE, Y42

_NODE = re.compile(r'    (\w+)\["(.*)"\]')
_ARROW = re.compile(r'    (\w+) (-->|-\.->)\|"(.*)"\| (\w+)')
_LINE = re.compile(r"    (\w+) --- (\w+)")

MOST_NODES, MOST_ARROWS, MOST_CHARACTERS = 12, 20, 60
"""The largest diagram that a reader takes in at one view: its nodes, its arrows, and the length of a line of a label."""


def drawn(model: Model) -> tuple[Mapping[str, str], list[tuple[str, str, str, str]]]:
    """Return the nodes of a diagram by id, and its arrows: start, form, label, end."""
    nodes: dict[str, str] = {}
    arrows: list[tuple[str, str, str, str]] = []
    for line in list(draw_propagation(model))[3:-1]:
        if node := _NODE.fullmatch(line):
            nodes[node[1]] = node[2]
        elif arrow := _ARROW.fullmatch(line):
            arrows.append((nodes[arrow[1]], arrow[2], arrow[3], nodes[arrow[4]]))
        else:
            assert _LINE.fullmatch(line), line
    return nodes, arrows


def rules(label: str) -> set[int]:
    """Return the numbers of the rules in a label."""
    return {int(number) for line in label.split("<br>") for number in line.partition(":")[0].split(", ")}


@pytest.mark.parametrize("model", [NEKT, Y42, ONEHOUSE, DATAMESH], ids=lambda model: model.name)
def test_the_diagram_of_a_shipped_model_is_small_and_shows_every_rule(model: Model) -> None:
    nodes, arrows = drawn(model)
    labels = [label for _, _, label, _ in arrows]

    assert len(nodes) <= MOST_NODES
    assert len(arrows) <= MOST_ARROWS
    assert max(len(line) for label in labels for line in label.split("<br>")) <= MOST_CHARACTERS
    assert set[int]().union(*map(rules, labels)) == {*range(1, len(model.spread) + len(model.named_in) + 1)}


def test_a_solid_arrow_goes_down_and_a_dotted_one_only_to_its_end() -> None:
    _, arrows = drawn(NEKT)

    assert ("layer", "-->", "2: viewer, editor, manager", "table") in arrows
    assert ("table", "-.->", "3: viewer, editor, manager as viewer", "layer") in arrows
    assert ("workspace", "-.->", "5: member as manager (conditional)", "lake") in arrows


def test_the_roles_of_a_rule_are_written_once_at_each_node() -> None:
    _, arrows = drawn(NEKT)

    assert ("layer", "-->", "2", "volume") in arrows
    assert ("volume", "-.->", "4", "lake") in arrows


def test_a_long_list_of_roles_ends_with_the_number_of_the_others() -> None:
    _, arrows = drawn(ONEHOUSE)

    assert ("lake", "-->", "2: ALL, MANAGE, DROP + 6 more", "database, table") in arrows


def test_types_that_the_rules_treat_alike_share_a_node() -> None:
    nodes, _ = drawn(DATAMESH)

    assert "domain, team" in nodes.values()


def test_a_type_that_only_is_below_others_shares_its_node_with_types_of_the_same_parents() -> None:
    nodes, _ = drawn(Y42)

    assert {"run", "data_export"} <= set(nodes.values())


def test_an_arrow_along_a_relation_ends_at_the_resources_with_that_relation() -> None:
    _, arrows = drawn(DATAMESH)

    assert ("domain, team", "-.->", "11: owner, approver, team_key + 1 more", "change_request by relation of") in arrows
    assert ("domain, team", "-.->", "4", "any resource by relation owner") in arrows


def test_a_relation_that_names_a_principal_is_an_arrow_from_the_principal() -> None:
    _, arrows = drawn(DATAMESH)

    assert ("the principal in relation consumer", "-.->", "12: consumer_side", "access") in arrows
    assert ("its creator", "-.->", "6: author", "saved_query") in drawn(NEKT)[1]


def test_a_model_without_rules_that_spread_roles_has_no_diagram() -> None:
    assert list(draw_propagation(replace(NEKT, spread=(), named_in=()))) == []
