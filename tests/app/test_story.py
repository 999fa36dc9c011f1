"""The story of the airline, as `make story` tells it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "part", [("--only", "onehouse"), pytest.param((), marks=pytest.mark.soak)], ids=["one chapter", "all"]
)
def test_everything_in_the_story_is_as_expected(part: tuple[str, ...]) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "examples.airline", *part],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=850,
        check=False,
    )

    *_, last = told.stdout.strip().splitlines()
    assert told.returncode == 0, told.stdout + told.stderr
    assert last.endswith(" as expected, 0 unexpected")
    assert "NOT OK" not in told.stdout
