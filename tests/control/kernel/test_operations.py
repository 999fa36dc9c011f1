"""The table of what operations need: complete, known to the vocabulary, and read by the commands."""

import re
from pathlib import Path

import pytest

import headgate.control
import headgate.endpoints.iceberg_rest
from headgate.control.kernel.operations import list_operation_actions, load_operation_table
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.model.diagnostics import ModelError
from headgate.model.operations import OperationNeed, load_operations
from tests.control.organization_harness import FOUNDER, nekt, resource

_CONTROL = Path(headgate.control.__file__).parent
_CATALOG = Path(headgate.endpoints.iceberg_rest.__file__).parent

_STATED_IN_PYTHON = {
    "access/escalation.py": "the need follows from what the change would open",
    "approvals/access_requests.py": "approving makes the assignments of a fix",
    "authentication/invitations.py": "of the organization's life",
    "identity/principals.py": "depends on whether the model has the action, and on the roles of the principal",
    "identity/tokens.py": "depends on whether the model has the action, and on the roles of the principal",
    "kernel/command.py": "defines it",
    "models/change_commands.py": "of the operators of the deployment",
    "models/commands.py": "of the operators of the deployment",
    "organizations/models_in_force.py": "of the organization's life",
    "organizations/organization_life.py": "of the organization's life",
    "organizations/removal.py": "of the organization's life",
    "organizations/suspension.py": "of the organization's life",
    "pipelines/commands.py": "the use of the connections that a pipeline declares",
}
"""The modules that still call `require_action` themselves, with the reason."""


def test_the_modules_that_name_actions_themselves_are_listed() -> None:
    calling = {
        str(path.relative_to(_CONTROL))
        for path in _CONTROL.rglob("*.py")
        if re.search(r"\.require_action\(|def require_action", path.read_text())
    }

    assert calling <= _STATED_IN_PYTHON.keys()


def test_every_operation_is_read_by_a_module() -> None:
    source = "".join(path.read_text() for folder in (_CONTROL, _CATALOG) for path in folder.rglob("*.py"))

    assert {name for name in load_operation_table() if f'"{name}"' not in source} == set()


def test_every_verb_is_one_of_the_vocabulary() -> None:
    known = {action.partition(".")[2] for action in shipped_vocabulary()}
    verbs = {verb for needs in load_operation_table().values() for need in needs for verb in need.verbs}

    assert {verb for verb in verbs if "{" not in verb and verb not in known | set(shipped_vocabulary())} == set()


def test_an_operation_requires_each_action_in_the_order_of_the_table() -> None:
    world = nekt()
    world.do(resource("other", "database", "organization/project/lake"))
    view = world.control.view(Caller(FOUNDER))
    facts = view.facts.resources
    places = {"table": facts[ResourceId("flights")], "database": facts[ResourceId("other")]}

    view.require_operation("table.rename", places, type="table")

    needed = [(each.question.action, each.question.resource) for each in view.decisions]
    assert needed == [("table.alter", "flights"), ("table.drop", "flights"), ("database.create_table", "other")]


def test_the_actions_for_a_type_are_those_that_the_vocabulary_has() -> None:
    assert list_operation_actions("resource.delete", "resource", "table") == ("table.drop",)
    assert list_operation_actions("resource.delete", "resource", "volume") == ("volume.delete",)
    assert list_operation_actions("table.rename", "database", "database", type="view") == ("database.create_view",)


def test_a_table_of_operations_is_read_in_its_order() -> None:
    found = load_operations("table.load: [{on: table, verb: [describe, select]}, {on: lake, verb: describe}]")

    assert found == {
        "table.load": (OperationNeed("table", ("describe", "select")), OperationNeed("lake", ("describe",)))
    }


@pytest.mark.parametrize("needs", ["[{on: table}]", "[{on: table, verb: a, verbs: b}]", "drop"])
def test_a_need_with_other_keys_is_an_error(needs: str) -> None:
    with pytest.raises(ModelError):
        load_operations(f"table.load: {needs}")
