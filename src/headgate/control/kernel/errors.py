"""The reasons for which a command is refused. A refused command changes nothing."""


class CommandError(Exception):
    """A command cannot be accepted. Nothing was changed."""


class CallerGoneError(CommandError):
    """The caller cannot act any more: the principal, token or run has ended."""


class SuspendedError(CommandError):
    """The organization is suspended, and the caller would act in it otherwise."""

    def __init__(self) -> None:
        super().__init__("this organization is suspended; ask the operator of this deployment")


class AlreadyExistsError(CommandError):
    """There is something of that name already; `is_hidden` if the caller may not discover it."""

    def __init__(self, message: str, *, is_hidden: bool = False) -> None:
        super().__init__(message)
        self.is_hidden = is_hidden


class NotFoundError(CommandError):
    """What the command names does not exist, or may not be seen by the caller."""


class InvalidError(CommandError):
    """An argument is not usable; the message says which and what would be."""


class NotEmptyError(InvalidError):
    """What would go still holds something."""
