"""The promised performance for very large organizations."""

import re
import subprocess
import sys

import pytest

from tests.bench.quick import BENCH, run_quick

QUESTIONS = [
    "check on a table, of a new user",
    "check on a table",
    "check on a pipeline",
    "explain an allowed check",
    "explain a denied check, with fixes",
    "what-if: revoke a grant on a table",
    "what-if: a user leaves a group",
]


def test_a_quick_run_measures_checks_explanations_and_what_ifs() -> None:
    printed = run_quick("decision_scale.py")

    assert re.findall(r"^(.+?) +median +[\d.]+ (?:µs|s), ", printed, re.MULTILINE) == QUESTIONS
    assert re.search(r"^load +[\d.]+ s ", printed, re.MULTILINE)
    assert re.search(r"^peak memory +[\d.]+ GB ", printed, re.MULTILINE)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_million_assignments_load_in_two_minutes_and_eight_gigabytes() -> None:
    ended = subprocess.run([sys.executable, BENCH / "decision_scale.py"], check=False)

    assert ended.returncode == 0
