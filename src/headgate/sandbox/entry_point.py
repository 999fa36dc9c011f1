"""`python -P -m headgate.sandbox.entry_point LEVEL POLICY [COMMAND ...]`: executes the command, restricted by the policy.

It first proves that the kernel refuses what the policy does not list. Without a command it only proves that and exits. The
command inherits the environment and the open descriptors 0 to 2.
"""

import os
import resource
import sys
from collections.abc import Sequence
from typing import Final

from headgate.sandbox import landlock, libc, seccomp_filter, self_test
from headgate.sandbox.enforcement_level import SandboxLevel
from headgate.sandbox.errors import SandboxError
from headgate.sandbox.policy import Policy

FAILED: Final = 125
"""The exit code if the sandbox cannot be set up."""
SAYS: Final = "sandbox: "
"""The prefix of the line with the reason."""


def main(arguments: Sequence[str]) -> None:
    """Restrict this process, and execute the command in it."""
    level, policy, command = SandboxLevel(arguments[0]), Policy.from_json(arguments[1]), list(arguments[2:])
    try:
        secret = restrict(policy, level)
        self_test.require_enforced(policy, level)
        if command:
            seccomp_filter.execute(command, secret)
    except (SandboxError, OSError) as error:
        print(f"{SAYS}{error}", file=sys.stderr)  # noqa: T201 (the parent reads stderr)
        sys.exit(FAILED)


def restrict(policy: Policy, level: SandboxLevel) -> seccomp_filter.FilterSecret:
    """Restrict this process permanently; return the secret to execute its command. Raises `SandboxError` or `OSError`."""
    # Landlock's rule refers to this entry of `/proc`, which must stay open so that the rule remains valid.
    os.set_inheritable(os.open("/proc/self", os.O_PATH), True)  # noqa: FBT003
    _limit(policy)
    libc.drop_privileges()
    if policy.ends_with_parent:
        libc.prctl(libc.SET_PARENT_DEATH_SIGNAL, libc.KILL)
    landlock.restrict_files(policy, level)
    return seccomp_filter.restrict_calls(policy)


def _limit(policy: Policy) -> None:
    _lower(resource.RLIMIT_CORE, 0)
    if policy.memory_bytes is not None:
        _lower(resource.RLIMIT_DATA, policy.memory_bytes)
    if policy.open_files is not None:
        _lower(resource.RLIMIT_NOFILE, policy.open_files)


def _lower(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main(sys.argv[1:])
