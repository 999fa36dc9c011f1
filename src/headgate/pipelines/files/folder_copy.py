"""Copies files from a connection's folder into the folder of a run.

Files are copied by open descriptors, so that Spark opens no path that a user of the connection's folder could replace by a
symbolic link (time of check to time of use).
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from headgate.pipelines.connections.egress import AllowedFolder
from headgate.pipelines.files.byte_copy import copy_bytes
from headgate.pipelines.files.file_limits import Bound
from headgate.pipelines.files.names import format_file_name, require_plain_name
from headgate.pipelines.files.path_containment import READ, open_beneath, open_folder
from headgate.pipelines.load_errors import LoadError

MAX_FILES: Final = 1_000_000
"""The maximum number of files in one folder."""
_LINKED = (errno.ELOOP, errno.EXDEV)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A regular file of an open folder, and the time of its arrival or last change, in nanoseconds of its file system."""

    name: str
    came: int


@contextmanager
def open_connected(folder: AllowedFolder, below: str = ".") -> Iterator[int]:
    """Open a folder of a connection while the block runs. Raises `LoadError` if it does not exist, or is a link."""
    with ExitStack() as opened:
        try:
            found = opened.enter_context(open_folder(folder.root, folder.below / below))
        except (FileNotFoundError, NotADirectoryError):
            raise LoadError(f"there is no folder `{below}` in the connection's folder; create it") from None
        except OSError as error:
            raise _fault(error, below) from error
        _require_not_own(folder, found, below)
        yield found


def list_files(folder: int) -> Sequence[FoundFile]:
    """Return the regular files of an open folder, sorted by name. Incomplete files, `.name` and `_name`, are left out.

    Raises `LoadError` if there are more than `MAX_FILES`.
    """
    found = list[FoundFile]()
    with os.scandir(folder) as entries:
        for each in entries:
            if each.name[0] not in "._" and each.is_file(follow_symlinks=False):
                found.extend(_look_at(each))
            if len(found) > MAX_FILES:
                raise LoadError(f"a folder of the connection has more than {MAX_FILES:,} files; move some of them away")
    return sorted(found, key=lambda each: each.name)


def _look_at(entry: os.DirEntry[str]) -> Iterator[FoundFile]:
    with suppress(FileNotFoundError):  # deleted after the listing
        status = entry.stat(follow_symlinks=False)
        yield FoundFile(entry.name, max(status.st_mtime_ns, status.st_ctime_ns))


def require_no_links(folder: int, beginning: str = "") -> None:
    """Raise `LoadError` if a file of an open folder is a link: its rows would silently be missing."""
    with os.scandir(folder) as entries:
        named = (each for each in entries if each.name.startswith(beginning) and each.name[0] not in "._")
        link = next((each.name for each in named if each.is_symlink()), None)
    if link is not None:
        raise _link_fault(link)


def copy_files(
    folder: AllowedFolder,
    source: int,
    names: Sequence[str],
    goal: Path,
    bound: Bound,
    has_to_end: Callable[[], bool],
) -> Mapping[str, int]:
    """Copy files of an open folder into an existing folder, and return the size of each file that still existed.

    Raises `LoadError` for a file that has a name which Spark cannot open, is not regular, belongs to the server itself,
    changes during the copy, does not fit on the disk or exceeds `bound`; and `EndedError` if the run has to end.
    """
    for each in names:
        require_plain_name(each)
    sizes = ((each, _copy_file(folder, source, goal / each, has_to_end)) for each in names)
    copied = {name: size for name, size in sizes if size is not None}
    for each in copied:
        with _name_in_errors(each):
            # The copy is checked: a file in the connection's folder may change after any check.
            bound(goal / each, has_to_end)
    return copied


@contextmanager
def _name_in_errors(name: str) -> Iterator[None]:
    """Add the file's name to a `LoadError` of the block."""
    try:
        yield
    except LoadError as error:
        raise LoadError(f"`{name}` in the connection's folder: {error}") from None


def _copy_file(folder: AllowedFolder, source: int, goal: Path, has_to_end: Callable[[], bool]) -> int | None:
    """Return the number of copied bytes, or None if the file does not exist any more."""
    name = goal.name
    try:
        found = open_beneath(source, PurePosixPath(name), READ)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _fault(error, name) from error
    try:
        status = os.fstat(found)
        if not stat.S_ISREG(status.st_mode):
            raise LoadError(f"`{name}` in the connection's folder is not a regular file; remove it")
        _require_not_own(folder, found, name)
        with _name_in_errors(name):
            copied = _write_copy(found, goal, status.st_size, has_to_end)
        os.utime(goal, ns=(status.st_atime_ns, status.st_mtime_ns))
        return copied
    finally:
        os.close(found)


def _write_copy(source: int, goal: Path, size: int, has_to_end: Callable[[], bool]) -> int:
    copy = os.open(goal, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        return copy_bytes(source, copy, has_to_end, most=size)
    finally:
        os.close(copy)


def _require_not_own(folder: AllowedFolder, descriptor: int, name: str) -> None:
    if folder.server_files.is_own_open(descriptor):
        raise LoadError(
            f"{_format_place(name)} belongs to the server itself and is not read; name another file or folder"
        )


def _fault(error: OSError, name: str) -> LoadError:
    if error.errno in _LINKED:
        return _link_fault(name)
    return LoadError(
        f"{_format_place(name)} cannot be opened ({os.strerror(error.errno or 0)}); ask the operator to check "
        "its permissions for the server"
    )


def _link_fault(name: str) -> LoadError:
    return LoadError(
        f"{_format_place(format_file_name(name))} is a symbolic link, or its path has one; links are not "
        "followed; replace the link by a copy"
    )


def _format_place(name: str) -> str:
    return "the connection's folder" if name == "." else f"`{name}` in the connection's folder"
