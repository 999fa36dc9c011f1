"""What can be wrong with the Spark side before anybody has asked anything.

    ToolchainError    Java, a jar or the guard is missing, and the message says what to do
"""


class ToolchainError(Exception):
    """Spark cannot be started with what is installed here."""
