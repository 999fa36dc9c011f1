"""Which files and folders are opened, by whatever process, as the kernel tells it: nothing that the guard or the catalog says."""

import ctypes
import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

UNNAMED: Final = "something that the kernel did not name"
"""Stands for all that is lost when more is opened than the kernel keeps: each watched folder may be among it."""
_OPENED = 0x20
_OVERFLOW = 0x4000
_FOLDER = 0x40000000
_HEAD = struct.Struct("iIII")
_MANY = 1 << 16


class Opening:
    """Watches files and folders, each under a name, with everything below them."""

    def __init__(self, folders: Mapping[Path, str], *, listings: bool = False) -> None:
        """With `listings`, to open a folder counts too, as is done to list it. Raises `OSError` where there is no inotify."""
        self._masks = {_OPENED, _OPENED | _FOLDER} if listings else {_OPENED}
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._names: dict[int, str] = {}
        try:
            self._handle = int(self._libc.inotify_init1(os.O_NONBLOCK))
        except AttributeError:
            raise OSError("this system does not tell which files are opened") from None
        for folder, name in folders.items():
            for each in (folder, *(below for below in folder.rglob("*") if below.is_dir())):
                self._names[self._watch(each)] = name

    def __enter__(self) -> Self:
        """It watches already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Watch no longer."""
        os.close(self._handle)

    def seen(self) -> frozenset[str]:
        """Return the names of what was opened since this was asked last; `UNNAMED` is one if the kernel lost some."""
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
        """Return once nothing was opened for so long; what was opened before is forgotten."""
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
