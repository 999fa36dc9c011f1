"""Sandbox for processes: restricts files, TCP ports, system calls and memory, on Linux without root or containers."""

from headgate.sandbox.enforcement_level import SandboxLevel
from headgate.sandbox.errors import SandboxError
from headgate.sandbox.policy import Policy

__all__ = ["Policy", "SandboxError", "SandboxLevel"]
