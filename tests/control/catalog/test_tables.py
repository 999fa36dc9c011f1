"""Commands about tables: a run changes only its outputs, whatever the access model needs for an operation."""

from dataclasses import replace

import pytest

from headgate.control.catalog.tables import ChangeProperties, DropTable, RenameTable
from headgate.control.control import Control
from headgate.control.kernel.command import Command
from headgate.control.kernel.errors import InvalidError
from headgate.control.models.library import FixedModels
from headgate.facts.caller import Caller
from headgate.facts.changes import RunStarted
from headgate.facts.ids import RunId
from headgate.model.model import OperationNeed
from tests.fakes.small_organization import ADMIN, FLIGHTS, LOAD, NEKT, NOW, RAW, controlled

RUN = RunId("run")
EASY = {
    "table.rename": (OperationNeed("table", ("alter",)), OperationNeed("database", ("create_{type}",))),
    "resource.delete": (OperationNeed("resource", ("edit", "alter")),),
    "database.change_properties": (OperationNeed("database", ("create_table",)),),
}
"""Needs that the run of a pipeline has on its outputs."""


@pytest.mark.parametrize(
    "command",
    [RenameTable(FLIGHTS, RAW, "trips"), DropTable(FLIGHTS), ChangeProperties(RAW)],
    ids=lambda command: command.name,
)
def test_a_run_does_not_rename_or_drop_its_outputs_under_any_model(command: Command) -> None:
    _, store = controlled(RunStarted(RUN, LOAD, ADMIN))
    control = Control(store, FixedModels({NEKT.name: replace(NEKT, operations=EASY)}), lambda: NOW)

    with pytest.raises(InvalidError, match="a run cannot"):
        control.execute(command, Caller(ADMIN, run=RUN))
    control.execute(command, Caller(ADMIN))
