"""The files and folders that any process opens, as the kernel reports them: independent of guard and catalog."""

import ctypes
import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

UNNAMED: Final = "something that the kernel did not name"
"""The name for lost events: if the kernel's queue overflows, any watched folder may be among them."""
_OPENED = 0x20
_OVERFLOW = 0x4000
_FOLDER = 0x40000000
_HEAD = struct.Struct("iIII")
_MANY = 1 << 16


class Opening:
    """Watches files and folders, each under a name, with their content at any depth."""

    def __init__(self, folders: Mapping[Path, str], *, listings: bool = False) -> None:
        """Start to watch; with `listings`, opening a folder to list it counts too.

        Raises `OSError` if the system has no inotify.
        """
        self._masks = {_OPENED, _OPENED | _FOLDER} if listings else {_OPENED}
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._names: dict[int, str] = {}
        try:
            self._handle = int(self._libc.inotify_init1(os.O_NONBLOCK))
        except AttributeError:
            raise OSError("this system does not report which files are opened") from None
        for folder, name in folders.items():
            for each in (folder, *(below for below in folder.rglob("*") if below.is_dir())):
                self._names[self._watch(each)] = name

    def __enter__(self) -> Self:
        """Return the object, which watches since its creation."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching."""
        os.close(self._handle)

    def seen(self) -> frozenset[str]:
        """Return the names of the files and folders opened since the last call.

        `UNNAMED` is one of them if the kernel has lost events.
        """
        found: set[str] = set()
        while events := self._read():
            place = 0
            while place < len(events):
                watch, mask, _, length = _HEAD.unpack_from(events, place)
                if mask & _OVERFLOW:
                    found.add(UNNAMED)
                elif mask in self._masks:
                    found.add(self._names[watch])
                place += _HEAD.size + length
        return frozenset(found)

    def wait_until_quiet(self, seconds: float = 2.0) -> None:
        """Wait until nothing has been opened for this time; discard the earlier events."""
        self.seen()
        time.sleep(seconds)
        while self.seen():
            time.sleep(seconds)

    def _watch(self, folder: Path) -> int:
        watch = int(self._libc.inotify_add_watch(self._handle, os.fsencode(folder), _OPENED))
        if watch < 0:
            raise OSError(ctypes.get_errno(), f"`{folder}` cannot be watched")
        return watch

    def _read(self) -> bytes:
        try:
            return os.read(self._handle, _MANY)
        except BlockingIOError:
            return b""
