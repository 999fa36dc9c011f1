"""Errors with which a command is refused. A refused command changes nothing."""


class CommandError(Exception):
    """A command is refused. Nothing was changed."""


class CallerGoneError(CommandError):
    """The caller is invalid: its principal was removed or has expired, its token has expired or was revoked, or its run has ended."""


class SuspendedError(CommandError):
    """The organization is suspended; without the suspension the caller could act in it."""

    def __init__(self) -> None:
        super().__init__("this organization is suspended; ask the operator of this deployment to resume it")


class AlreadyExistsError(CommandError):
    """The name or id is taken. `is_hidden` if the caller may not discover the resource that has it."""

    def __init__(self, message: str, *, is_hidden: bool = False) -> None:
        super().__init__(message)
        self.is_hidden = is_hidden


class NotFoundError(CommandError):
    """The command names a resource that does not exist, or that the caller may not discover."""


class InvalidError(CommandError):
    """An argument is invalid; the message says which, and which values are valid."""


class NotEmptyError(InvalidError):
    """The resource that is to be deleted is not empty."""


def missing_text(name: str) -> str:
    """Return the text for a resource that is hidden or missing, the same for both."""
    return f"there is no `{name}` that you may see; check the name, or ask an owner or admin for access to it"
