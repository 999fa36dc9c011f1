"""Files of a certificate and its key: detects changes, and prevents a prompt for the key's password."""

from pathlib import Path

Stamp = tuple[int, int, int] | None
"""A stamp of a file's content: time of change, inode and size; None if the file cannot be read."""


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
    """Raise `ValueError` for a key with a password: without this callback OpenSSL would prompt at the terminal."""
    raise ValueError("the key file of the certificate is protected by a password; use a key without a password")
