"""Relocation of a table: reads the files that contain paths, and rewrites them for the new location."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from headgate.lake.containment import is_inside, path_of
from headgate.lake.errors import InvalidMetadataError, RuleError
from headgate.lake.regular_files import read_regular_file
from headgate.lake.relocation import Relocation, manifests_of, position_deletes_of


def relocate_files(relocation: Relocation, metadata_location: str) -> dict[str, bytes]:
    """Return the rewritten files that contain paths, by their paths after the move.

    An old metadata file that no longer exists is skipped. Raises `LakeError` or `OSError`.
    """

    def read(path: str) -> bytes:
        relocation.path(path)
        real = os.path.realpath(path_of(path))
        if not is_inside(relocation.old, real):
            raise RuleError(
                "a file of the table is a symbolic link out of the table's location; replace the link with the file"
            )
        return read_regular_file(Path(real))

    metadata, lists = dict[str, bytes](), dict[str, str]()
    # One parsed file at a time: parsed, a file takes a multiple of its bytes.
    for path, parsed in _metadata_files(metadata_location, read):
        lists |= _by_path(each["manifest-list"] for each in parsed.get("snapshots", ()))
        metadata[path] = relocation.metadata(parsed)
    kept = {path: read(path) for place, path in sorted(lists.items()) if Path(place).exists()}
    named = _by_path(path for each in kept.values() for path in manifests_of(each))
    manifests = {path: read(path) for path in named.values()}
    deletes = _by_path(path for each in manifests.values() for path in position_deletes_of(each))
    moved_deletes = {path: relocation.position_deletes(read(path)) for path in deletes.values()}
    sizes = {relocation.path(path): len(content) for path, content in moved_deletes.items()}
    moved = {path: relocation.manifest(content, sizes) for path, content in manifests.items()}
    lengths = {relocation.path(path): len(content) for path, content in moved.items()}
    moved |= {path: relocation.manifest_list(content, lengths) for path, content in kept.items()}
    moved |= metadata | moved_deletes
    return {relocation.path(path): content for path, content in moved.items()}


def _metadata_files(location: str, read: Callable[[str], bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and the content of the current metadata file, then of the earlier ones that exist."""
    current = _parse_metadata(location, read(location))
    past = _by_path(each["metadata-file"] for each in current.get("metadata-log", ()))
    past.pop(path_of(location), None)
    yield location, current
    del current
    for place, path in sorted(past.items()):
        if Path(place).exists():
            yield path, _parse_metadata(path, read(path))


def _by_path(names: Iterable[str]) -> dict[str, str]:
    """Return one name for each path: a hostile table may name one file many times, in many spellings."""
    return {path_of(name): name for name in names}


def _parse_metadata(path: str, content: bytes) -> dict[str, Any]:
    try:
        metadata = json.loads(content)
    except (ValueError, RecursionError):
        metadata = None
    if not isinstance(metadata, dict):
        raise InvalidMetadataError(
            f"the metadata file `{Path(path_of(path)).name}` of the table is not a JSON object; restore the file from a backup"
        )
    return cast("dict[str, Any]", metadata)
