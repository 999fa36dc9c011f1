"""Operations on full names: the model that decides on the first name, or would, states the actions."""

from dataclasses import replace

import pytest

from headgate.control.models.library import FixedModels
from headgate.control.questions.operation_names import NeededAction, OperationName, list_needed_actions
from headgate.decision.engine.engine import Engine
from headgate.model.model import OperationNeed
from tests.fakes.small_organization import FLIGHTS, NEKT, controlled

DATABASE = OperationName(("lake", "secret"), "database")
ROW = (OperationNeed("table", ("select",)), OperationNeed("database", ("create_{type}",)))


def list_needs(table: str, row: tuple[OperationNeed, ...] | None) -> list[NeededAction]:
    """Return what a rename of a table into the database `secret` needs; without a row the model restates nothing."""
    control, _ = controlled()
    model = replace(NEKT, operations={"table.rename": row} if row else {})
    answers = Engine(FixedModels({NEKT.name: model}).in_force(control.snapshot), control.snapshot)
    places = {"table": OperationName(("lake", "raw", table), "table"), "database": DATABASE}
    return list(list_needed_actions(answers, "table.rename", places, type="view"))


def test_an_operation_needs_the_actions_of_the_table_on_its_names() -> None:
    needs = [(each.place, each.action, each.names[-1]) for each in list_needs(FLIGHTS, None)]

    assert needs == [
        ("table", "table.alter", FLIGHTS),
        ("table", "table.drop", FLIGHTS),
        ("database", "database.create_view", "secret"),
    ]


@pytest.mark.parametrize("table", [FLIGHTS, "nosuch"])
def test_a_missing_name_needs_what_an_existing_one_needs(table: str) -> None:
    needs = [(each.place, each.action, each.names[-1]) for each in list_needs(table, ROW)]

    assert needs == [("table", "table.select", table), ("database", "database.create_view", "secret")]
