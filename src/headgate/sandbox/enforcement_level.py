"""Enforcement levels of the sandbox."""

import enum


class SandboxLevel(enum.Enum):
    """The part of a policy that the kernel enforces."""

    FULL = "full"
    """Files, TCP ports, system calls, memory."""
    FILES_ONLY = "files only"
    """All but the TCP ports: the kernel's Landlock is older than Linux 6.7."""
    NONE = "none"
    """Nothing."""

    @property
    def missing(self) -> str:
        """A text about the restrictions that this level lacks; empty for the full level."""
        return _MISSING[self]


_MISSING = {
    SandboxLevel.FULL: "",
    SandboxLevel.FILES_ONLY: "connections to TCP ports are not restricted",
    SandboxLevel.NONE: "files, TCP ports, system calls and memory are not restricted",
}
