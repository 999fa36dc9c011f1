"""What can be wrong with the Spark side before anybody has asked anything."""


class ToolchainError(Exception):
    """Spark cannot be started with what is installed here; the message says what is missing and what to do."""
