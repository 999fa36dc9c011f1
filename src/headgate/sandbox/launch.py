"""What this machine enforces, and how a command is started under it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from typing import Final

from headgate.sandbox.enforcement_level import SandboxLevel
from headgate.sandbox.entry_point import SAYS
from headgate.sandbox.policy import Policy

_WITHIN: Final = 30.0
SYSTEM: Final = (
    "/usr/lib",
    "/usr/lib64",
    "/lib",
    "/lib64",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/filesystems",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/sys/net/core/somaxconn",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
)
"""What every program reads of the machine. Nothing of it is of one user."""
DEVICES: Final = ("/dev/null",)
"""What every program writes."""
LOADERS: Final = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
"""What loads the libraries of a program that is executed."""


@cache
def find_level() -> tuple[SandboxLevel, str]:
    """Return what this machine enforces, as a process that tried it has proven, and why it is no more."""
    why = f"{sys.platform} has no Landlock" if sys.platform != "linux" else ""
    for level in () if why else (SandboxLevel.FULL, SandboxLevel.FILES_ONLY):
        fault = _fault(level)
        if not fault:
            return level, why
        why = why or fault
    return SandboxLevel.NONE, why


def sandbox_command(command: Sequence[str], policy: Policy, level: SandboxLevel) -> tuple[str, ...]:
    """Return the command that starts another one under a policy; the other one itself at the level `none`."""
    if level is SandboxLevel.NONE:
        return tuple(command)
    return (sys.executable, "-P", "-m", "headgate.sandbox.entry_point", level.value, policy.to_json(), *command)


def _fault(level: SandboxLevel) -> str:
    """Return why a level is not enforced here, or nothing."""
    home = os.path.expanduser("~")  # noqa: PTH111 (a text)
    policy = Policy(reads=SYSTEM, writes=DEVICES, forbidden=(home,))
    try:
        done = subprocess.run(
            sandbox_command((), policy, level), capture_output=True, text=True, timeout=_WITHIN, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2].removeprefix(SAYS)
