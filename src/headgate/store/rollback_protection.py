"""Rollback protection: a file beside the key has a high-water mark, the newest seal, per log; no log may be behind it."""

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from headgate.control.kernel.ports import StoreError
from headgate.control.kernel.private_files import replace_private_file
from headgate.facts.ids import ResourceId
from headgate.store.seals import Seal, read_seals


@dataclass(frozen=True, slots=True)
class HighWaterMarks:
    """The file of marks, with the same lines as `headgate log seal` prints. Several processes of one machine share it."""

    file: Path

    @classmethod
    def locate_beside(cls, key: Path) -> Self:
        """Return the marks beside a key file."""
        return cls(key.with_suffix(".seals.jsonl"))

    def read(self) -> Mapping[ResourceId, Seal]:
        """Return the mark of each log; empty if there is no file. Raises `StoreError` if the file cannot be read."""
        try:
            return {seal.log: seal for seal in read_seals(self.file.read_text(encoding="utf-8").splitlines())}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, StoreError) as error:
            raise StoreError(
                f"the file `{self.file}`, which records the newest seal of each log, cannot be read ({error}); restore the file "
                "from a backup, or, if you trust the logs as they are now, write a new one with `headgate log accept`"
            ) from error

    def advance(self, seals: Iterable[Seal]) -> None:
        """Raise the marks of logs to these seals; a seal that is not above its mark changes nothing. Raises `StoreError`."""
        with self._alone():
            before = self.read()
            after = _newest((*before.values(), *seals))
            if after != before:
                self._put(after)

    def replace(self, seals: Iterable[Seal]) -> None:
        """Replace all marks by these seals. Raises `StoreError` if the file cannot be written."""
        with self._alone():
            self._put(_newest(seals))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the file against other processes while the block runs. Raises `StoreError` if it cannot be written."""
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
            finally:
                os.close(lock)
        except OSError as error:
            raise StoreError(
                f"the newest seals of the logs cannot be written to `{self.file}` ({error.strerror}); give the user of this process write access to "
                "its folder, and check that the disk has space"
            ) from error

    def _put(self, marks: Mapping[ResourceId, Seal]) -> None:
        replace_private_file(self.file, "".join(f"{marks[log].line()}\n" for log in sorted(marks)).encode())


def require_not_rolled_back(mark: Seal, sealed: int, hash: Callable[[int], str | None]) -> None:
    """Raise `StoreError` if a log sealed up to `sealed` is behind its mark; `hash` returns the hash of a revision."""
    if sealed < mark.revision or hash(mark.revision) != mark.hash:
        raise StoreError(
            f"the log `{mark.log}` differs from the log that this deployment sealed at revision {mark.revision}: it was "
            "truncated or rewritten, or its seals were deleted; restore a newer backup, or, if you restored an older one on "
            "purpose, run `headgate log accept`"
        )


def _newest(seals: Iterable[Seal]) -> Mapping[ResourceId, Seal]:
    """Return the newest seal of each log; of two seals of one revision, the first."""
    found: dict[ResourceId, Seal] = {}
    for seal in seals:
        there = found.get(seal.log)
        if there is None or seal.revision > there.revision:
            found[seal.log] = seal
    return found
