"""What goes wrong with a sandbox."""


class SandboxError(Exception):
    """The sandbox cannot be made, or does not hold; the message says what."""
