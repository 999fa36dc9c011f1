"""Writes a table as a folder of files: Spark writes into the run's own folder; the result replaces the target in one step.

All operations in the connection's folder use descriptors of folders that were opened without following a link.
"""

import ctypes
import errno
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from pyspark.sql import DataFrame

from headgate.facts.ids import RunId
from headgate.pipelines.connections.egress import AllowedFolder
from headgate.pipelines.files.byte_copy import copy_bytes
from headgate.pipelines.files.folder_copy import open_connected
from headgate.pipelines.files.path_containment import READ, open_beneath, open_folder

_EXCHANGE: Final = 2
"""`RENAME_EXCHANGE` of `renameat2`: exchanges two paths in one step."""
_UNKNOWN: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_OPTIONS: Final = {"csv": {"header": "true"}}
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class FilesError(Exception):
    """The files cannot be written to their target."""


def write_files(
    frame: DataFrame,
    format: str,
    connected: Callable[[], AllowedFolder],
    name: str,
    staging: Path,
    run: RunId,
    has_to_end: Callable[[], bool],
) -> None:
    """Write the folder `name` with files into a connection's folder. A reader sees either all old or all new files.

    `connected` returns the folder of the connection and checks access again at each call. The last call is after the files
    are copied, before they replace the old ones.

    An attempt that ends halfway leaves the target unchanged; the next attempt of its run removes the files that it has
    written. Raises `FilesError`, `LoadError` or `EndedError`.
    """
    written = staging / "files"
    shutil.rmtree(written, ignore_errors=True)
    connected()
    frame.write.format(format).options(**_OPTIONS.get(format, {})).save(str(written))
    staged, folder = f".{name}.{run}", connected()
    with open_connected(folder) as goal:
        if folder.server_files.is_own(folder.path / name) or folder.server_files.has_own_below(folder.path / name):
            raise FilesError(
                f"the folder `{name}` is, or contains, files of the server itself; choose another `folder`"
            )
        _remove(goal, staged)
        try:
            _copy(written, goal, staged, has_to_end)
            connected()
            _put(goal, staged, name)
        finally:
            _remove(goal, staged)


def _copy(written: Path, goal: int, staged: str, has_to_end: Callable[[], bool]) -> None:
    os.mkdir(staged, 0o777, dir_fd=goal)
    target = open_beneath(goal, PurePosixPath(staged), os.O_RDONLY | os.O_DIRECTORY)
    try:
        with open_folder(written, PurePosixPath()) as source, os.scandir(source) as entries:
            # Hadoop's marker file `_SUCCESS` is not copied: no reader has seen the files yet.
            for name in (each.name for each in entries if each.name[0] not in "._"):
                _copy_file(source, target, name, has_to_end)
    finally:
        os.close(target)


def _copy_file(source: int, target: int, name: str, has_to_end: Callable[[], bool]) -> None:
    found = open_beneath(source, PurePosixPath(name), READ)
    try:
        made = open_beneath(target, PurePosixPath(name), _NEW, 0o666)
        try:
            copy_bytes(found, made, has_to_end, most=os.fstat(found).st_size)
        finally:
            os.close(made)
    finally:
        os.close(found)


def _put(folder: int, staged: str, name: str) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise FilesError(
                f"`{name}` exists in the connection's folder and is not a folder; remove it, or choose another `folder`"
            )
    try:
        # Fails if the target folder has files; an empty one is replaced.
        os.rename(staged, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        _exchange(folder, staged, name)


def _exchange(folder: int, one: str, other: str) -> None:
    """Exchange two folders in one step: the name refers to one of them at every moment."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    failed = rename is None or rename(folder, os.fsencode(one), folder, os.fsencode(other), _EXCHANGE) != 0
    if not failed:
        return
    reason = ctypes.get_errno() if rename is not None else errno.ENOSYS
    if reason in _UNKNOWN:
        raise FilesError(
            f"the file system of the folder `{other}` cannot exchange two folders in one step; use a connection to a folder on a "
            "local file system"
        )
    raise OSError(reason, os.strerror(reason), other)


def _remove(folder: int, name: str) -> None:
    # `rmtree` follows no link, not even one that replaces a folder during the call.
    shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
