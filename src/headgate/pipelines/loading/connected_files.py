"""Staging of a stream's files: copies from the folder of its connection into the run's own folder."""

import os
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from headgate.pipelines.connections.egress import AllowedFolder
from headgate.pipelines.files.file_limits import Bound
from headgate.pipelines.files.folder_copy import copy_files, list_files, open_connected, require_no_links
from headgate.pipelines.load_errors import LoadError
from headgate.pipelines.loading.streams import FileStream


def stage_files(
    stream: FileStream, folder: AllowedFolder, goal: Path, bound: Bound, has_to_end: Callable[[], bool]
) -> tuple[int, int]:
    """Copy the files of a stream into a new folder; return the number of files, and of their bytes.

    Raises `LoadError` if there are no files, or one cannot be read, and `EndedError`.
    """
    shutil.rmtree(goal, ignore_errors=True)
    goal.mkdir(parents=True)
    with open_connected(folder) as top:
        is_one = stream.file is not None and not _is_folder(top, stream.file)
        if stream.file is not None and is_one:
            return _count(copy_files(folder, top, (stream.file,), goal, bound, has_to_end), stream)
    with open_connected(folder, stream.file or ".") as found:
        require_no_links(found, stream.prefix or "")
        names = [each.name for each in list_files(found) if each.name.startswith(stream.prefix or "")]
        return _count(copy_files(folder, found, names, goal, bound, has_to_end), stream)


def _count(sizes: Mapping[str, int], stream: FileStream) -> tuple[int, int]:
    if not sizes and stream.file is not None:
        raise LoadError(
            f"there is no file `{stream.file}` in the connection's folder; correct `file` of the stream, or add the file"
        )
    if not sizes:
        raise LoadError(
            f"there is no file in the connection's folder whose name begins with `{stream.prefix}`; correct `prefix` of the "
            "stream, or add a file"
        )
    return len(sizes), sum(sizes.values())


def _is_folder(top: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        raise LoadError(
            f"there is no file `{name}` in the connection's folder; correct `file` of the stream, or add the file"
        ) from None
