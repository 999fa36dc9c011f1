"""The lock of a data folder: one process at a time uses it; the lock is released when that process exits."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from headgate.control.kernel.ports import StoreError


class FolderInUseError(StoreError):
    """Another process holds the lock of the data folder."""


class FolderLock:
    """A lock on `<folder>/lock`, which has the process id in it; held until it is closed or the process exits."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, folder: Path) -> Self:
        """Acquire the lock. Raises `FolderInUseError` if another process holds it, `StoreError` if it cannot be created."""
        path = folder / "lock"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"the data folder `{folder}` cannot be written ({error.strerror}); give the user of this process write access to it, or choose "
                "another data folder"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise FolderInUseError(
                f"the data folder `{folder}` is in use by the process {holder}; stop that process, or choose another data folder"
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        return cls(descriptor)

    def close(self) -> None:
        """Release the lock. The file stays: without it, two processes could each lock a file of their own."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
