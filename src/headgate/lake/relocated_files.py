"""Relocation of a table: reads the files that contain paths, and rewrites them for the new location."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from headgate.lake.containment import is_inside, path_of
from headgate.lake.errors import InvalidMetadataError, RuleError
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
        if Path(real).exists() and not Path(real).is_file():
            # Reading a pipe would wait for its writer.
            raise RuleError("a file of the table is not a regular file; replace it with the file from a backup")
        return Path(real).read_bytes()

    metadata, lists = dict[str, bytes](), set[str]()
    # One parsed file at a time: parsed, a file takes a multiple of its bytes.
    for path, parsed in _metadata_files(metadata_location, read):
        lists |= {each["manifest-list"] for each in parsed.get("snapshots", ())}
        metadata[path] = relocation.metadata(parsed)
    kept = {path: read(path) for path in sorted(lists) if Path(path_of(path)).exists()}
    manifests = {path: read(path) for each in kept.values() for path in manifests_of(each)}
    deletes = {path for each in manifests.values() for path in position_deletes_of(each)}
    moved_deletes = {path: relocation.position_deletes(read(path)) for path in sorted(deletes)}
    sizes = {relocation.path(path): len(content) for path, content in moved_deletes.items()}
    moved = {path: relocation.manifest(content, sizes) for path, content in manifests.items()}
    lengths = {relocation.path(path): len(content) for path, content in moved.items()}
    moved |= {path: relocation.manifest_list(content, lengths) for path, content in kept.items()}
    moved |= metadata | moved_deletes
    return {relocation.path(path): content for path, content in moved.items()}


def _metadata_files(location: str, read: Callable[[str], bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and the content of the current metadata file, then of the earlier ones that exist."""
    current = _parse_metadata(location, read(location))
    # By path: a hostile log may name one file many times, in many spellings.
    past = {path_of(each["metadata-file"]): each["metadata-file"] for each in current.get("metadata-log", ())}
    past.pop(path_of(location), None)
    yield location, current
    del current
    for place, path in sorted(past.items()):
        if Path(place).exists():
            yield path, _parse_metadata(path, read(path))


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
