"""What can be wrong with a login."""


class LoginError(Exception):
    """Whoever it is has not proved it."""


class TooOftenError(Exception):
    """There were too many attempts; `wait` says for how many seconds there will be no other."""

    def __init__(self, wait: float) -> None:
        super().__init__("there were too many attempts; wait a while")
        self.wait = wait
