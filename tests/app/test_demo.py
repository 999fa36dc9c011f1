"""The demo as a newcomer runs it: it ends well, and once more on the same data."""

import subprocess
from pathlib import Path

import pytest

from tests.app.serving import HEADGATE

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def test_the_demo_holds_what_it_expects_and_can_be_run_again(tmp_path: Path) -> None:
    for _ in range(2):
        ended = subprocess.run(
            [str(HEADGATE), "demo", "--once", "--data", str(tmp_path / "d"), "--api-port", "0", "--spark-port", "0"],
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert "336,776 rows in lake.raw.flights" in ended.stdout
        assert "56 of 56 attempts ended as they should" in ended.stdout
        assert "given by ada" in ended.stdout
