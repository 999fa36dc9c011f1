"""The example of the airline, as `make story` runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox import without_landlock
from tests.sandbox.levels import require_said

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]

_ROOT = Path(__file__).resolve().parents[2]
STORY = (sys.executable, "-m", "examples.airline")


def tell(*command: str, **environ: str) -> str:
    """Run the example, require that every step is as expected, and return its output."""
    told = subprocess.run(
        command,
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=850,
        check=False,
        env=os.environ | environ,
    )

    *_, last = told.stdout.strip().splitlines()
    assert told.returncode == 0, told.stdout + told.stderr
    assert last.endswith(" as expected, 0 unexpected")
    assert "NOT OK" not in told.stdout
    return told.stdout + told.stderr


def test_everything_in_the_story_is_as_expected() -> None:
    require_said(tell(*STORY))


def test_everything_in_the_story_is_as_expected_where_the_machine_has_no_sandbox() -> None:
    assert without_landlock.NOT_ENFORCED in tell(*without_landlock.COMMAND, *STORY, HEADGATE_SANDBOX="prefer")
