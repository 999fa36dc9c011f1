"""Checkpoints: a snapshot as bytes that load fast, for organizations with a long history.

A checkpoint holds each fact once, in columns; the indexes are rebuilt when it is loaded. It is a copy that can be
rebuilt from the log, so a checkpoint of another version is refused, never converted.
"""

import gc
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from struct import Struct
from typing import Final, cast

from headgate.facts.bulk_index import Facts, build_snapshot, facts_of
from headgate.facts.columns import columns_of, from_columns
from headgate.facts.record_schema import shape_of
from headgate.facts.snapshot import Assignment, Snapshot

VERSION = 1

_MAGIC = b"HEADGATE"
_HEAD = Struct("<8sHII")
"""The magic bytes, the version, the checksum of the facts' shape, and the checksum of the content."""


class CheckpointError(Exception):
    """The bytes are not a checkpoint that this version can load; the caller reads the log instead."""


@dataclass(frozen=True, slots=True)
class _Image:
    """The content of a checkpoint. Assignments on one resource are adjacent."""

    facts: Facts
    assignments: tuple[Assignment, ...]


_SHAPE = shape_of(_Image)
_SHAPE_SUM: Final = 0x5E6C5F6E
"""The number of the facts' shape. Facts of another shape need another number, so that older checkpoints are refused."""


def dump_checkpoint(snapshot: Snapshot) -> bytes:
    """Return the snapshot as bytes; equal snapshots give equal bytes."""
    content = columns_of(_SHAPE, _Image(facts_of(snapshot), tuple(_by_resource(snapshot))))
    return _HEAD.pack(_MAGIC, VERSION, _SHAPE_SUM, zlib.crc32(content)) + content


def load_checkpoint(content: bytes) -> Snapshot:
    """Return the snapshot of a checkpoint. Raises `CheckpointError` for bytes that this version did not dump."""
    inside = _checked(content)
    with _gc_paused():
        image = cast("_Image", from_columns(_SHAPE, inside))
        return build_snapshot(image.facts, image.assignments)


def is_of_this_version(content: bytes) -> bool:
    """Whether the bytes begin with this version's header; they may still be damaged."""
    return len(content) >= _HEAD.size and _HEAD.unpack_from(content)[:3] == (_MAGIC, VERSION, _SHAPE_SUM)


@contextmanager
def _gc_paused() -> Generator[None]:
    """Exclude objects created meanwhile from garbage collection, now and later: it would scan millions of records each time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if enabled:
            gc.enable()


def _by_resource(snapshot: Snapshot) -> Iterator[Assignment]:
    for place in sorted(snapshot.assignments_on):
        there = snapshot.assignments_on[place]
        for subject in sorted(there):
            held = snapshot.assignments[subject]
            yield from (held[key] for key in there[subject])


def _checked(content: bytes) -> memoryview:
    if not content.startswith(_MAGIC) or len(content) < _HEAD.size:
        raise CheckpointError(
            "the checkpoint in the database was not written by Headgate; Headgate reads the whole log instead, which takes longer and loses nothing"
        )
    _, version, shape, checksum = _HEAD.unpack_from(content)
    if (version, shape) != (VERSION, _SHAPE_SUM):
        raise CheckpointError(
            "the checkpoint in the database was written by another version of Headgate; Headgate reads the whole log instead, which takes longer and loses nothing"
        )
    inside = memoryview(content)[_HEAD.size :]
    if zlib.crc32(inside) != checksum:
        raise CheckpointError(
            "the checkpoint in the database is damaged; Headgate reads the whole log instead, which takes longer and loses nothing"
        )
    return inside
