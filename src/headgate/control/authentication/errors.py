"""Errors of authentication."""

from math import ceil


class LoginError(Exception):
    """The authentication failed."""


class TooOftenError(Exception):
    """Rate limit of attempts exceeded. `wait` is the time in seconds until the next attempt is accepted."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"there were too many attempts to log in; retry in {max(1, ceil(wait))} s")
        self.wait = wait
