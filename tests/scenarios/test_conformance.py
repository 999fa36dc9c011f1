"""The conformance suite: how the four products decide, case by case."""

import pytest

from headgate.cli.scenario_folders import read_folder
from headgate.control.scenarios.run import run
from headgate.control.scenarios.world import Reference, Start
from headgate.decision.engine import Engine
from tests.scenarios.folders import CONFORMANCE


@pytest.mark.parametrize("start", [Reference, Engine])
def test_every_case_is_answered_as_the_product_does(start: Start) -> None:
    outcomes = [run(system.world, case) for system in read_folder(CONFORMANCE, start) for case in system.cases]

    assert [f"{each.case.id}: {each.answer}, {each.why}" for each in outcomes if not each.passed] == []
    assert len(outcomes) == 1671
