"""Errors of the toolchain, raised before Spark is started."""


class ToolchainError(Exception):
    """Spark cannot be started with the installed software; the message says what is missing and what to do."""
