"""The README's tour of the API is a session with a server, and prints what it says."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repo.sessions import BLOCK, ran, session

README = Path(__file__).resolve().parents[2] / "README.md"

HEADGATE = Path(sys.executable).parent / "headgate"
WITHIN = 60.0
"""Seconds for a start; generous, because machines are shared."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A control plane without Spark; what a shell needs to know to talk to it."""
    environment = {**os.environ, "HEADGATE_SPARK": "0", "HEADGATE_DATA": str(tmp_path / "data"), "HEADGATE_LOG": "text"}
    output = tmp_path / "output"
    with output.open("wb") as written:
        process = subprocess.Popen(
            [str(HEADGATE), "serve", "--api-port", "0"], env=environment, stdout=written, stderr=subprocess.STDOUT
        )
        try:
            yield {"HEADGATE_URL": address(output), "HEADGATE_DATA": environment["HEADGATE_DATA"]}
        finally:
            process.terminate()
            process.wait()


def address(output: Path) -> str:
    """Return where the server says that it is."""
    end = time.monotonic() + WITHIN
    while time.monotonic() < end:
        found = re.search(r"API at (http://[\d.:]+)/api/v1", output.read_text(encoding="utf-8"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(output.read_text(encoding="utf-8"))


@pytest.mark.timeout(300)
def test_the_tour_works_as_it_says(served: dict[str, str], tmp_path: Path) -> None:
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    steps = [step for _, run, _, body in blocks if run for step in session(body)]

    assert steps, "the README shows no session"
    for step in steps:
        found = ran(step.command, tmp_path, served)

        assert step.matches(found.stdout), f"$ {step.command}\n{found.stdout}"
        assert found.returncode == step.code, f"$ {step.command}\n{found.stdout}"
