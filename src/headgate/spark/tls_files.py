"""Files of a certificate and its key: whether they have changed, and that nobody is asked for a password."""

from pathlib import Path

Stamp = tuple[int, int, int] | None
"""What tells one content of a file from the next; None while the file cannot be looked at."""


def read_stamps(files: tuple[Path, ...]) -> tuple[Stamp, ...]:
    """Return the stamp of each file."""
    return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ino, found.st_size)


def no_password() -> str:
    """Refuse a key that needs one: without this OpenSSL would ask whoever sits at the terminal. Raises `ValueError`."""
    raise ValueError("the key needs a password; use one that does not")
