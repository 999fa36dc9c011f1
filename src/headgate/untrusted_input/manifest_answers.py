"""Encoding of a parser's results about manifests; the parent decodes it without trusting the parser."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from headgate.untrusted_input.errors import UnreadableInputError

_MANIFEST: Final = struct.Struct(">Iqq?32s")
"""Length of the path, partition spec, sequence number, encrypted, identity; the path follows."""
_FILE: Final = struct.Struct(">IBB?q?q32s")
"""Length of the path, status, content, both sequence numbers (each after a presence flag), identity; the path follows."""
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
    identity: bytes
    """A digest that is equal for records with the same values."""


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """An entry of a manifest: a data or delete file."""

    path: str
    status: int
    content: int
    sequence_number: int | None
    file_sequence_number: int | None
    identity: bytes
    """A digest that is equal for files with the same path, partition and statistics."""


def pack_manifests(manifests: Iterable[ManifestAnswer]) -> bytes:
    """Return the manifests as bytes."""
    packed = bytearray()
    for each in manifests:
        path = each.path.encode()
        numbers = (each.partition_spec_id, each.sequence_number, each.is_encrypted)
        packed += _MANIFEST.pack(len(path), *numbers, each.identity) + path
    return bytes(packed)


def unpack_manifests(answer: bytes) -> Iterator[ManifestAnswer]:
    """Yield the manifests in a parser's result. Raises `UnreadableInputError` if it is malformed."""
    for (_, spec, sequence, is_encrypted, identity), path in _unpack(_MANIFEST, answer):
        yield ManifestAnswer(path, spec, sequence, is_encrypted, identity)


def pack_files(files: Iterable[FileAnswer]) -> bytes:
    """Return the files as bytes."""
    packed = bytearray()
    for each in files:
        path = each.path.encode()
        sequence, own = each.sequence_number, each.file_sequence_number
        numbers = (sequence is not None, sequence or 0, own is not None, own or 0)
        packed += _FILE.pack(len(path), each.status, each.content, *numbers, each.identity) + path
    return bytes(packed)


def unpack_files(answer: bytes) -> Iterator[FileAnswer]:
    """Yield the files in a parser's result. Raises `UnreadableInputError` if it is malformed."""
    for (_, status, content, has_sequence, sequence, has_own, own, identity), path in _unpack(_FILE, answer):
        if status not in CODES or content not in CODES:
            raise UnreadableInputError(_MALFORMED)
        yield FileAnswer(path, status, content, sequence if has_sequence else None, own if has_own else None, identity)


def _unpack(form: struct.Struct, answer: bytes) -> Iterator[tuple[tuple[Any, ...], str]]:
    at = 0
    while at < len(answer):
        try:
            head = form.unpack_from(answer, at)
            at += form.size + head[0]
            path = answer[at - head[0] : at].decode()
        except (struct.error, UnicodeDecodeError):
            raise UnreadableInputError(_MALFORMED) from None
        if at > len(answer):
            raise UnreadableInputError(_MALFORMED)
        yield head, path
