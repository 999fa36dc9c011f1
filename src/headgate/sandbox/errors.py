"""Errors of the sandbox."""


class SandboxError(Exception):
    """The sandbox cannot be set up, or is not enforced; the message says why."""
