"""A table as a folder of files: written beside its goal, and put in its place in one step when it is whole."""

import ctypes
import errno
import os
import shutil
from pathlib import Path

from pyspark.sql import DataFrame

from headgate.facts.ids import RunId

_AT_HERE, _EXCHANGE = -100, 2
"""The kernel's words: paths as they are, and that both stay, each in the other's place."""
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_OPTIONS = {"csv": {"header": "true"}}
_MARKS = ("_SUCCESS", ".*.crc")
"""What Hadoop leaves beside the files: its word that they are whole is not needed, for nobody sees them before."""


class FilesError(Exception):
    """The files cannot be put where they belong."""


def write_files(frame: DataFrame, format: str, goal: Path, run: RunId) -> None:
    """Write a folder of files. Who reads it meanwhile finds all files of before, or all new ones.

    An attempt that ends halfway leaves the goal as it was, and what it has written to the next attempt of its run,
    which removes it. Raises `FilesError`.
    """
    staged = goal.parent / f".{goal.name}.{run}"
    shutil.rmtree(staged, ignore_errors=True)
    try:
        frame.write.format(format).options(**_OPTIONS.get(format, {})).save(str(staged))
        for mark in (found for pattern in _MARKS for found in staged.rglob(pattern)):
            mark.unlink()
        _put(staged, goal)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _put(staged: Path, goal: Path) -> None:
    if goal.is_symlink() or (goal.exists() and not goal.is_dir()):
        raise FilesError(f"`{goal.name}` is there and is no folder: remove it, or name another one")
    try:
        # Fails where a folder with files is; one that is empty is replaced.
        staged.rename(goal)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        _exchange(staged, goal)


def _exchange(one: Path, other: Path) -> None:
    """Let two folders change their places in one step: no moment is without the one or the other."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    failed = rename is None or rename(_AT_HERE, os.fsencode(one), _AT_HERE, os.fsencode(other), _EXCHANGE) != 0
    if not failed:
        return
    reason = ctypes.get_errno() if rename is not None else errno.ENOSYS
    if reason in _UNKNOWN:
        raise FilesError(f"the file system of `{other.name}` cannot exchange two folders: write to a local one")
    raise OSError(reason, os.strerror(reason), str(other))
