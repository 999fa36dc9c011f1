"""The demo as a newcomer runs it: it ends well, serves on the same data when run again, and ends when told to."""

import subprocess
from pathlib import Path

import pytest

from tests.app.serving import HEADGATE, is_alive, serving, until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

INTERRUPTED = 130


def holds(output: str) -> None:
    """Everything that the story has to tell."""
    assert "336,776 rows in lake.raw.flights" in output
    assert "56 of 56 attempts ended as they should" in output
    assert "given by ada" in output


def test_the_demo_holds_what_it_expects_and_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    with serving(tmp_path / "d", "demo") as demo:
        demo.until_printed("paste into Python")
        holds(demo.output)
        jvm = demo.jvm()

        assert demo.end() == INTERRUPTED
        until(lambda: not is_alive(jvm), demo.failure("the JVM outlived the demo"))


@pytest.mark.soak
def test_the_demo_can_be_run_again_after_it_was_interrupted(tmp_path: Path) -> None:
    with serving(tmp_path / "d", "demo") as demo:
        demo.until_printed("airlines.csv into")
        assert demo.end() == INTERRUPTED

    with serving(tmp_path / "d", "demo") as demo:
        demo.until_printed("paste into Python")
        holds(demo.output)
        assert demo.end() == INTERRUPTED


@pytest.mark.soak
def test_the_demo_can_be_run_again(tmp_path: Path) -> None:
    once = [str(HEADGATE), "demo", "--once", "--data", str(tmp_path / "d"), "--api-port", "0", "--spark-port", "0"]

    for _ in range(2):
        ended = subprocess.run(once, capture_output=True, text=True, timeout=400, check=False)

        assert ended.returncode == 0, ended.stdout + ended.stderr
        holds(ended.stdout)
