"""The table of what operations need: complete, known to the vocabulary, and read by the commands."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import headgate.control
import headgate.endpoints.iceberg_rest
from headgate.control.access.assignments import AssignRole
from headgate.control.catalog.tables import DropTable, RenameTable
from headgate.control.control import Control
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.operations import choose_action, list_operation_needs
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.control.models.library import FixedModels
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.model.model import OperationNeed
from tests.control.organization_harness import ANN, FOUNDER, LAKE, MODELS, OrganizationHarness, nekt, resource

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

    assert {name for name in shipped_vocabulary().operations if f'"{name}"' not in source} == set()


def test_every_verb_is_one_of_the_vocabulary() -> None:
    known = {action.partition(".")[2] for action in shipped_vocabulary()}
    verbs = {verb for needs in shipped_vocabulary().operations.values() for need in needs for verb in need.verbs}

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


def test_the_first_verb_counts_that_the_model_or_else_the_vocabulary_has() -> None:
    [need] = list_operation_needs("resource.delete", None)

    assert choose_action(need, "table", None, {}) == "table.drop"
    assert choose_action(need, "volume", MODELS["nekt"], {}) == "volume.delete"


class TestAModelThatRestatesARename:
    """`table.rename` needs `select` on the table and `describe` on the database."""

    ROW = (OperationNeed("table", ("select",)), OperationNeed("database", ("describe",)))

    @pytest.fixture
    def world(self) -> OrganizationHarness:
        made = nekt()
        made.do(
            resource("other", "database", LAKE),
            AssignRole(ANN, "viewer", ResourceId("flights")),
            AssignRole(ANN, "viewer", ResourceId("other")),
        )
        return made

    def restate(self, world: OrganizationHarness, row: tuple[OperationNeed, ...]) -> None:
        model = replace(MODELS["nekt"], operations={"table.rename": row})
        world.control = Control(world.store, FixedModels({"nekt": model}), lambda: world.now)

    def test_a_caller_with_what_the_model_asks_for_renames_the_table(self, world: OrganizationHarness) -> None:
        rename = RenameTable(ResourceId("flights"), ResourceId("other"), "trips")
        world.refuse(rename, PermissionDeniedError, by=ANN)

        self.restate(world, self.ROW)

        assert world.do(rename, by=ANN).full_name(ResourceId("flights"))[-2:] == ("other", "trips")

    def test_every_action_that_the_model_asks_for_is_needed(self, world: OrganizationHarness) -> None:
        self.restate(world, (*self.ROW, OperationNeed("database", ("edit", "alter"))))

        world.refuse(RenameTable(ResourceId("flights"), ResourceId("other"), "trips"), PermissionDeniedError, by=ANN)

    def test_other_operations_need_what_the_table_of_headgate_says(self, world: OrganizationHarness) -> None:
        self.restate(world, self.ROW)

        world.refuse(DropTable(ResourceId("flights")), PermissionDeniedError, by=ANN)

    def test_a_rename_still_gives_the_caller_no_privilege(self, world: OrganizationHarness) -> None:
        world.do(AssignRole(ANN, "manager", ResourceId("other")))
        self.restate(world, self.ROW)

        world.refuse(
            RenameTable(ResourceId("flights"), ResourceId("other"), "trips"), InvalidError, "would gain", by=ANN
        )
