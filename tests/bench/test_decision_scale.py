"""The promised performance for very large organizations."""

import subprocess
import sys
from pathlib import Path

import pytest

SCALE = Path(__file__).resolve().parents[2] / "bench" / "decision_scale.py"


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_million_assignments_load_in_two_minutes_and_eight_gigabytes() -> None:
    ended = subprocess.run([sys.executable, SCALE], check=False)

    assert ended.returncode == 0
