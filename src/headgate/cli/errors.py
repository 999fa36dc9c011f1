"""What the command line raises and prints as one sentence."""


class ApiError(Exception):
    """The API did not do what was asked, and says why."""
