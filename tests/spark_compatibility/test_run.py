"""The whole comparison of ordinary Spark with and without Headgate, in parts of some minutes whose results are kept in `.soak`."""

import subprocess
import sys

import pytest

from tests.soak import LOGS, count

PARTS = 15
WORK = LOGS / "compatibility"


def run_comparison(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line; its progress goes to the log of the part."""
    command = [sys.executable, "-m", "tools.compatibility", "--work", str(WORK), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)


def last_line(ended: subprocess.CompletedProcess[str]) -> str:
    sys.stdout.write(ended.stdout)
    return (ended.stdout.splitlines() or [""])[-1]


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize(("number", "parts"), [(number, PARTS) for number in range(1, PARTS + 1)])
def test_a_part_of_ordinary_spark_has_no_unread_difference(number: int, parts: int) -> None:
    ended = run_comparison("--shard", f"{number}/{parts}")

    line = last_line(ended)
    assert ended.returncode == 0, line
    count(line)


@pytest.mark.spark
@pytest.mark.soak
def test_ordinary_spark_is_rarely_refused_and_never_wrong() -> None:
    ended = run_comparison("--compare-only")

    line = last_line(ended)
    assert ended.returncode == 0, f"{line} (each `compatibility-N` has to run before)"
    count(line)
