"""The suite is answered over HTTP as its models decide it: the state is imported, the actor asks with a real secret."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.app.scenarios import Doors, doors
from headgate.cli.scenario_folders import read_folder
from headgate.control.scenarios.run import run
from headgate.decision.engine import Engine
from tests.scenarios.folders import FOLDERS

EVERY = (
    pytest.param(25, id="sample"),
    pytest.param(1, id="all", marks=[pytest.mark.soak, pytest.mark.timeout(900)]),
)
"""One case of so many is asked; all of them in the soak."""


@pytest.fixture(scope="module")
def opened() -> Iterator[Doors]:
    with doors() as found:
        yield found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("step", EVERY)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_case_is_answered_as_it_expects(folder: Path, step: int, opened: Doors) -> None:
    outcomes = [
        run(system.world, case, opened.asked) for system in read_folder(folder, Engine) for case in system.cases[::step]
    ]

    assert [f"{each.case.id}: {each.answer}, {each.why}" for each in outcomes if not each.passed] == []
    assert outcomes
