"""Errors of the command line, each printed as one sentence."""

from pathlib import Path


class ApiError(Exception):
    """A call of the API failed, or could not be sent; the message is the reason."""


def describe_unreadable(file: Path, error: OSError | UnicodeDecodeError) -> str:
    """Return why a text file cannot be read, without the number of the error."""
    if isinstance(error, FileNotFoundError):
        return f"there is no file `{file}`; correct the path"
    if isinstance(error, UnicodeDecodeError):
        return f"`{file}` is not UTF-8 text; save the file as UTF-8"
    return f"`{file}` cannot be read ({error.strerror}); check its path and permissions"


def describe_unwritable(file: Path, error: OSError) -> str:
    """Return why a file cannot be written, without the number of the error."""
    if isinstance(error, FileNotFoundError):
        return f"there is no folder `{file.parent}`; create the folder, or correct the path"
    if isinstance(error, IsADirectoryError):
        return f"`{file}` is a folder; add the name of a file to the path"
    return f"`{file}` cannot be written ({error.strerror}); check its path and permissions"
