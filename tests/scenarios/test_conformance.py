"""Decisions of the four products, case by case, and our own cases for rules that the suite's sample leaves out."""

from pathlib import Path

import pytest

from headgate.cli.scenarios.folders import read_folder
from headgate.conformance.runner import run_case
from headgate.control.kernel.log_follower import EngineFactory
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Reference
from tests.scenarios.folders import CONFORMANCE, FOLDERS


@pytest.mark.parametrize("start", [Reference, Engine], ids=["reference", "engine"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_case_is_answered_as_it_expects(folder: Path, start: EngineFactory) -> None:
    outcomes = [run_case(system.world, case) for system in read_folder(folder, start) for case in system.cases]

    assert [f"{each.case.id}: {each.answer}, {each.why}" for each in outcomes if not each.passed] == []
    assert len(outcomes) == 1671 or folder != CONFORMANCE
