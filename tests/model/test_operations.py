"""The loader of the table of what operations need."""

import pytest

from headgate.model.diagnostics import ModelError
from headgate.model.model import OperationNeed
from headgate.model.operations import load_operations


def test_a_table_of_operations_is_read_in_its_order() -> None:
    found = load_operations("table.load: [{on: table, verb: [describe, select]}, {on: lake, verb: describe}]")

    assert found == {
        "table.load": (OperationNeed("table", ("describe", "select")), OperationNeed("lake", ("describe",)))
    }


@pytest.mark.parametrize("needs", ["[{on: table}]", "[{on: table, verb: a, verbs: b}]", "drop"])
def test_a_need_with_other_keys_is_an_error(needs: str) -> None:
    with pytest.raises(ModelError):
        load_operations(f"table.load: {needs}")
