"""The sandbox level of a machine is determined by trying each level."""

import subprocess
import sys

import pytest

from headgate.sandbox import SandboxLevel, landlock
from headgate.sandbox.launch import find_level
from tests.conftest import IN_CI
from tests.sandbox import without_landlock

SAY = "from headgate.sandbox.launch import find_level; level, why = find_level(); print(level.value, '|', why)"


def test_the_level_of_this_kernel_follows_from_its_landlock_version() -> None:
    level, why = find_level()
    version = landlock.version() if sys.platform == "linux" else 0

    assert level is (
        SandboxLevel.FULL if version >= 4 else SandboxLevel.FILES_ONLY if version else SandboxLevel.NONE
    ), why
    assert bool(why) is (level is not SandboxLevel.FULL)
    assert not (IN_CI and level is not SandboxLevel.FULL), why


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has Landlock")
def test_a_kernel_without_landlock_has_the_level_none_with_a_reason() -> None:
    done = subprocess.run(
        (*without_landlock.COMMAND, sys.executable, "-c", SAY),
        capture_output=True,
        text=True,
        check=True,
    )

    assert (
        done.stdout.strip()
        == "none | the Linux kernel has no Landlock, or Landlock is disabled; add `landlock` to the boot parameter `lsm`"
    )
