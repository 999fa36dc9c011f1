"""The checkpoint: a snapshot as bytes that load fast, for organizations whose history is long.

It holds each fact once, in columns; the indexes are made anew when it is read. It is a copy that can be made again from
the log, so that one of another version is refused and never converted.
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
"""What it is, its version, the shape of its facts, and the checksum of what follows."""


class CheckpointError(Exception):
    """These bytes are no checkpoint that can be read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class _Image:
    """What a checkpoint holds. Those assigned on one resource stand together."""

    facts: Facts
    assignments: tuple[Assignment, ...]


_SHAPE = shape_of(_Image)
_SHAPE_SUM: Final = 0x62C61F98
"""Stands for the shape of the facts. Facts of another shape need another number, so that older checkpoints are refused."""


def dump_checkpoint(snapshot: Snapshot) -> bytes:
    """Return the snapshot as bytes; equal snapshots give equal bytes."""
    content = columns_of(_SHAPE, _Image(facts_of(snapshot), tuple(_by_resource(snapshot))))
    return _HEAD.pack(_MAGIC, VERSION, _SHAPE_SUM, zlib.crc32(content)) + content


def load_checkpoint(content: bytes) -> Snapshot:
    """Return the snapshot that was dumped. Raises `CheckpointError` for anything else than what this version dumps."""
    inside = _checked(content)
    with _gc_paused():
        image = cast("_Image", from_columns(_SHAPE, inside))
        return build_snapshot(image.facts, image.assignments)


def is_of_this_version(content: bytes) -> bool:
    """Return whether these bytes begin as what this version dumps; they can be damaged."""
    return len(content) >= _HEAD.size and _HEAD.unpack_from(content)[:3] == (_MAGIC, VERSION, _SHAPE_SUM)


@contextmanager
def _gc_paused() -> Generator[None]:
    """Keep the garbage collector from what is loaded meanwhile, now and later: it would look through millions of records each time."""
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
        raise CheckpointError("this is no checkpoint of Headgate")
    _, version, shape, checksum = _HEAD.unpack_from(content)
    if (version, shape) != (VERSION, _SHAPE_SUM):
        raise CheckpointError("the checkpoint is of another version of Headgate; make it anew from the log")
    inside = memoryview(content)[_HEAD.size :]
    if zlib.crc32(inside) != checksum:
        raise CheckpointError("the checkpoint is damaged; make it anew from the log")
    return inside
