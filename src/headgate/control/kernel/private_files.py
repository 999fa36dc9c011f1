"""Files that only the user of this process can read, such as keys, tokens and sessions: written whole and durably."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def create_private_file(file: Path, content: bytes) -> bool:
    """Write a new file with mode 600, and return True; if the file exists, it is kept, and False returned. Raises `OSError`.

    The folder is created with mode 700 if it is missing. Of several processes, one creates the file.
    """
    with _written_beside(file, content) as new:
        try:
            file.hardlink_to(new)
        except FileExistsError:
            return False
    sync_folder(file.parent)
    return True


def replace_private_file(file: Path, content: bytes) -> None:
    """Write a file with mode 600, in place of one that exists. Raises `OSError`; then the previous file is unchanged.

    The folder is created with mode 700 if it is missing.
    """
    with _written_beside(file, content) as new:
        new.replace(file)
    sync_folder(file.parent)


@contextmanager
def _written_beside(file: Path, content: bytes) -> Generator[Path]:
    """Yield a new file with the content, in the same folder; it is deleted after the block unless the block renamed it."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        # Created with mode 600, so that other users can never read it.
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        yield new
    finally:
        new.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, so that the names in it survive a crash."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
