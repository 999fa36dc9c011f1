"""Detection of the level that this machine enforces, and the command that starts a program in a sandbox."""

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
"""Files of the system that every program reads. None belongs to a user."""
DEVICES: Final = ("/dev/null",)
"""Devices that every program writes to."""
LOADERS: Final = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
"""The dynamic loaders of programs."""


@cache
def find_level() -> tuple[SandboxLevel, str]:
    """Return the highest level that a test process has proven on this machine, and why it is not higher."""
    why = f"the operating system `{sys.platform}` has no Landlock" if sys.platform != "linux" else ""
    for level in () if why else (SandboxLevel.FULL, SandboxLevel.FILES_ONLY):
        fault = _fault(level)
        if not fault:
            return level, why
        why = why or fault
    return SandboxLevel.NONE, why


def sandbox_command(command: Sequence[str], policy: Policy, level: SandboxLevel) -> tuple[str, ...]:
    """Return the command that starts `command` in the sandbox; at the level `NONE`, `command` itself."""
    if level is SandboxLevel.NONE:
        return tuple(command)
    return (sys.executable, "-P", "-m", "headgate.sandbox.entry_point", level.value, policy.to_json(), *command)


def _fault(level: SandboxLevel) -> str:
    """Return why this machine does not enforce a level; empty if it does."""
    home = os.path.expanduser("~")  # noqa: PTH111 (a string)
    policy = Policy(reads=SYSTEM, writes=DEVICES, forbidden=(home,))
    try:
        done = subprocess.run(
            sandbox_command((), policy, level), capture_output=True, text=True, timeout=_WITHIN, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2].removeprefix(SAYS)
