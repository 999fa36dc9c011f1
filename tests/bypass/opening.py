"""Which tables' files are opened, by whatever process, as the kernel tells it: nothing that the guard or the catalog says."""

import ctypes
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Self

_OPENED = 0x20
_HEAD = struct.Struct("iIII")
_MANY = 1 << 16


class Opening:
    """Watches folders, each under a name, with everything below them."""

    def __init__(self, folders: Mapping[Path, str]) -> None:
        """Raises `OSError` where there is no inotify: it is Linux's."""
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
        """Return the names of the folders in which files were opened since this was asked last."""
        found: set[str] = set()
        while events := self._read():
            place = 0
            while place < len(events):
                watch, mask, _, length = _HEAD.unpack_from(events, place)
                # Without the bit of a folder: who lists what lies in it has opened no file.
                if mask == _OPENED:
                    found.add(self._names[watch])
                place += _HEAD.size + length
        return frozenset(found)

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
