"""Runs of a measurement in `bench/` at `--quick`."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"


def run_quick(name: str) -> str:
    """Run the measurement and return its output. It must succeed."""
    ended = subprocess.run([sys.executable, BENCH / name, "--quick"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr[-3000:]
    return ended.stdout
