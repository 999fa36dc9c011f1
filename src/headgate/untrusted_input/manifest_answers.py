"""Encoding of a parser's results about manifests; the parent decodes it without trusting the parser."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from headgate.untrusted_input.errors import UnreadableInputError

_MANIFEST: Final = struct.Struct(">Iqq??q32s")
"""Length of the path, partition spec, sequence number, encrypted, first row id (after a presence flag), identity; the path
follows."""
_FILE: Final = struct.Struct(">IIBB?q?qq?32s")
"""Length of both paths, length of the second one, status, content, both sequence numbers (each after a presence flag), records,
whether the file is a deletion vector, identity; the path follows, then the path of the data file of a deletion vector."""
CODES: Final = range(3)
"""The valid values of a status, and of a content."""
_MALFORMED: Final = "the file could not be read, because its parser returned a malformed result; write the file again with an Iceberg library"


@dataclass(frozen=True, slots=True)
class ManifestAnswer:
    """An entry of a manifest list: a manifest."""

    path: str
    partition_spec_id: int
    sequence_number: int
    is_encrypted: bool
    first_row_id: int | None
    identity: bytes
    """A digest that is equal for records with the same values, whatever their first row id."""


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """An entry of a manifest: a data or delete file."""

    path: str
    status: int
    content: int
    sequence_number: int | None
    file_sequence_number: int | None
    vector_of: str | None
    """The data file of a deletion vector."""
    records: int
    identity: bytes
    """A digest that is equal for files with the same path, partition and statistics, whatever their first row id."""


def pack_manifests(manifests: Iterable[ManifestAnswer]) -> bytes:
    """Return the manifests as bytes."""
    packed = bytearray()
    for each in manifests:
        path = each.path.encode()
        row = each.first_row_id
        numbers = (each.partition_spec_id, each.sequence_number, each.is_encrypted, row is not None, row or 0)
        packed += _MANIFEST.pack(len(path), *numbers, each.identity) + path
    return bytes(packed)


def unpack_manifests(answer: bytes) -> Iterator[ManifestAnswer]:
    """Yield the manifests in a parser's result. Raises `UnreadableInputError` if it is malformed."""
    for (_, spec, sequence, is_encrypted, has_row, row, identity), path in _unpack(_MANIFEST, answer):
        yield ManifestAnswer(_text(path), spec, sequence, is_encrypted, row if has_row else None, identity)


def pack_files(files: Iterable[FileAnswer]) -> bytes:
    """Return the files as bytes."""
    packed = bytearray()
    for each in files:
        path, vector_of = each.path.encode(), (each.vector_of or "").encode()
        sequence, own = each.sequence_number, each.file_sequence_number
        numbers = (sequence is not None, sequence or 0, own is not None, own or 0, each.records)
        lengths = (len(path) + len(vector_of), len(vector_of))
        head = _FILE.pack(*lengths, each.status, each.content, *numbers, each.vector_of is not None, each.identity)
        packed += head + path + vector_of
    return bytes(packed)


def unpack_files(answer: bytes) -> Iterator[FileAnswer]:
    """Yield the files in a parser's result. Raises `UnreadableInputError` if it is malformed."""
    for head, paths in _unpack(_FILE, answer):
        _, length, status, content, has_sequence, sequence, has_own, own, records, is_vector, identity = head
        if status not in CODES or content not in CODES or length > len(paths) or records < 0:
            raise UnreadableInputError(_MALFORMED)
        path, vector_of = _text(paths[: len(paths) - length]), _text(paths[len(paths) - length :])
        numbers = (sequence if has_sequence else None, own if has_own else None)
        yield FileAnswer(path, status, content, *numbers, vector_of if is_vector else None, records, identity)


def _text(path: bytes) -> str:
    try:
        return path.decode()
    except UnicodeDecodeError:
        raise UnreadableInputError(_MALFORMED) from None


def _unpack(form: struct.Struct, answer: bytes) -> Iterator[tuple[tuple[Any, ...], bytes]]:
    at = 0
    while at < len(answer):
        try:
            head = form.unpack_from(answer, at)
        except struct.error:
            raise UnreadableInputError(_MALFORMED) from None
        at += form.size + head[0]
        if at > len(answer):
            raise UnreadableInputError(_MALFORMED)
        yield head, answer[at - head[0] : at]
