"""The errors of a load: each message tells a user what to do."""


class LoadError(Exception):
    """A stream could not be loaded; its table is unchanged."""


class EndedError(Exception):
    """The run has to end, for example because it was cancelled or exceeded its timeout."""

    def __init__(self) -> None:
        super().__init__("the run was asked to end before it was done; its state shows the reason")
