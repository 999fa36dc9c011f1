"""One process per data folder: a lock that dies with the process that holds it."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from headgate.control.kernel.ports import StoreError


class FolderInUseError(StoreError):
    """Another process serves from this data folder."""


class FolderLock:
    """Holds `<folder>/lock`, with the process id in it, until it is closed or the process dies."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, folder: Path) -> Self:
        """Take the lock. Raises `FolderInUseError` if another process has it, `StoreError` if it cannot be made."""
        path = folder / "lock"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"the data folder `{folder}` cannot be written ({error.strerror}); choose another"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise FolderInUseError(
                f"the data folder `{folder}` is in use by the process {holder}; stop it or choose another folder"
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        return cls(descriptor)

    def close(self) -> None:
        """Let go of the folder. The file stays: removing it would let two processes hold two locks."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
