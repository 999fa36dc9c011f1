"""What a load fails with: one sentence that a person can act on."""


class LoadError(Exception):
    """A stream could not be loaded, and its table is as it was."""


class EndedError(Exception):
    """The run has to end: it was cancelled, or its time is over."""

    def __init__(self) -> None:
        super().__init__("the run has to end")
