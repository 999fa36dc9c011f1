"""How much of a sandbox a machine enforces."""

import enum


class SandboxLevel(enum.Enum):
    """What the kernel enforces of a policy."""

    FULL = "full"
    """Files, TCP ports, system calls, memory."""
    FILES_ONLY = "files only"
    """All but the TCP ports: the kernel's Landlock is older than Linux 6.7."""
    NONE = "none"
    """Nothing."""

    @property
    def missing(self) -> str:
        """What is not enforced at this level, in words; nothing at the full one."""
        return _MISSING[self]


_MISSING = {
    SandboxLevel.FULL: "",
    SandboxLevel.FILES_ONLY: "the TCP ports that they connect to are not enforced",
    SandboxLevel.NONE: "their files, TCP ports, system calls and memory are not enforced",
}
