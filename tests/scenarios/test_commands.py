"""Commands and questions agree on every scenario: a command is accepted exactly where its question is allowed."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from headgate.cli.scenarios.folders import read_folder
from headgate.conformance.questions import expand_question
from headgate.conformance.runner import ALLOW, ConformanceCase, prepare_world
from headgate.conformance.steps import perform
from headgate.conformance.world import World
from headgate.control.kernel.parsing import InvalidDocumentError, entry, require_text
from headgate.decision.evaluator import Reference
from tests.scenarios.folders import FOLDERS

NEW = "new"
"""The id of a resource that the step would create."""

Given = Mapping[str, Any]

ABOUT: Mapping[str, Callable[[str, Given], Given]] = {
    "grant": lambda on, given: {"grant": {"on": on, **given}},
    "revoke": lambda on, given: {"revoke": {"on": on, **given}},
    "delete": lambda on, _: {"delete": {"id": on}},
    "drop": lambda on, _: {"delete": {"id": on}},
    "add_user": lambda on, given: {"join": {"of": on, **given}},
    "define_role": lambda _, given: {"define_role": given},
    "set_role_mode": lambda on, given: {"set": {"on": on, "role_mode": given["mode"]}},
    "set_change_process": lambda on, given: {"set": {"on": on, "change_process": given["enabled"]}},
    "request_access": lambda on, given: {"request_access": {"id": NEW, "port": on, "by": "", "purpose": "", **given}},
    "add_access": lambda on, given: {
        "add_access": {"id": NEW, "port": on, "start": "+0d", "end": "+1d", "purpose": "", **given}
    },
    "approve_access": lambda on, _: {"approve_access": {"id": on, "start": "+0d", "end": "+1d"}},
    "reject_access": lambda on, _: {"reject_access": {"id": on}},
    "terminate_access": lambda on, _: {"terminate_access": {"id": on}},
    "delete_access": lambda on, _: {"delete_access": {"id": on}},
    "submit_change": lambda on, _: {"submit_change": {"id": NEW, "on": on, "by": ""}},
}
"""For each action of a question, the step that performs it; an action without an entry can only be asked about."""

ONLY_ASKED = ("api_key", "user")
"""Types that no step creates."""


def steps(world: World, case: ConformanceCase) -> Iterator[Given]:
    """Yield the step that performs the action of the case, if there is one; no step deletes an organization.

    No step performs an operation: a command also requires that the caller gains no privilege by it.
    """
    if "operation" in case.ask:
        return
    action, on, given = require_text(case.ask, "action"), require_text(case.ask, "resource"), entry(case.ask["with"])
    if action in ABOUT and not (action == "add_user" and "role" not in given):
        if action != "delete" or on not in world.engines:
            yield ABOUT[action](on, given)
    elif action in ("create", "create_child") and given.get("type", ONLY_ASKED[0]) not in ONLY_ASKED:
        asked = [each.question for each in expand_question(world, case.ask)]
        said = {key: value for each in asked for key, value in (*each.given.items(), *each.on.items())}
        yield {"create": {**said, "id": NEW, "type": given["type"], "parent": on}}


def accepted(world: World, step: Given) -> bool:
    """Whether the step is carried out and not refused."""
    try:
        perform(world, step)
    except InvalidDocumentError:
        return False
    return True


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_command_is_accepted_exactly_where_its_question_is_allowed(folder: Path) -> None:
    wrong = [
        case.id
        for system in read_folder(folder, Reference)
        for case in system.cases
        for world in (prepare_world(system.world, case),)
        for step in steps(world, case)
        if accepted(world, {**step, "as": case.ask["actor"]}) != (case.expect == ALLOW)
    ]

    assert wrong == []
