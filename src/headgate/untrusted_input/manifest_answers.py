"""Encoding of a parser's results about manifests; the parent decodes it without trusting the parser."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headgate.untrusted_input.errors import UnreadableInputError

_MANIFEST: Final = struct.Struct(">Iqqq???q?q?q32s")
"""Length of the path, partition spec, sequence number, minimum sequence number, whether it is a data manifest, encrypted, first row id,
rows of added and of existing files (each after a presence flag), identity; the path follows."""
_FILE: Final = struct.Struct(">IIBB?q?q?qq?32s")
"""Length of both paths, length of the second one, status, content, both sequence numbers and the first row id (each after a
presence flag), records, whether the file has deletes of one data file only, identity; the path follows, then the path of that data
file."""
CODES: Final = range(3)
"""The valid values of a status, and of a content."""
_MALFORMED: Final = "the file could not be read, because its parser returned a malformed result; write the file again with an Iceberg library"


@dataclass(frozen=True, slots=True)
class ManifestAnswer:
    """An entry of a manifest list: a manifest."""

    path: str
    partition_spec_id: int
    sequence_number: int
    min_sequence_number: int
    """The smallest sequence number of its live files, as the manifest list states it."""
    is_data: bool
    """Whether its files are data files, not delete files."""
    is_encrypted: bool
    first_row_id: int | None
    added_rows: int | None
    existing_rows: int | None
    identity: bytes
    """A digest that is equal for records with the same values, whatever their first row id."""

    @property
    def name(self) -> str:
        """The file name, without the folder."""
        return self.path.rpartition("/")[2]

    @property
    def rows(self) -> int | None:
        """The rows of the manifest's live files as the manifest list states them, or None if it does not."""
        return None if self.added_rows is None or self.existing_rows is None else self.added_rows + self.existing_rows


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """An entry of a manifest: a data or delete file."""

    path: str
    status: int
    content: int
    sequence_number: int | None
    file_sequence_number: int | None
    first_row_id: int | None
    """The id of the file's first row, if the manifest itself names it."""
    deletes_of: str | None
    """The data file of a deletion vector, or of position deletes that are all of one data file."""
    records: int
    identity: bytes
    """A digest that is equal for files with the same path, partition and statistics, whatever their first row id."""


def pack_manifests(manifests: Iterable[ManifestAnswer]) -> bytes:
    """Return the manifests as bytes."""
    packed = bytearray()
    for each in manifests:
        path = each.path.encode()
        numbers = (each.partition_spec_id, each.sequence_number, each.min_sequence_number)
        flags = (each.is_data, each.is_encrypted)
        optional = _pack_optional(each.first_row_id, each.added_rows, each.existing_rows)
        packed += _MANIFEST.pack(len(path), *numbers, *flags, *optional, each.identity) + path
    return bytes(packed)


def unpack_manifests(answer: bytes) -> Iterator[ManifestAnswer]:
    """Yield the manifests in a parser's result. Raises `UnreadableInputError` if it is malformed."""
    for (_, spec, sequence, lowest, is_data, is_encrypted, *optional, identity), path in _unpack(_MANIFEST, answer):
        numbers = (spec, sequence, lowest)
        yield ManifestAnswer(_text(path), *numbers, is_data, is_encrypted, *_unpack_optional(optional), identity)


def pack_files(files: Iterable[FileAnswer]) -> bytes:
    """Return the files as bytes."""
    packed = bytearray()
    for each in files:
        path, deletes_of = each.path.encode(), (each.deletes_of or "").encode()
        optional = _pack_optional(each.sequence_number, each.file_sequence_number, each.first_row_id)
        lengths = (len(path) + len(deletes_of), len(deletes_of))
        head = (
            *lengths,
            each.status,
            each.content,
            *optional,
            each.records,
            each.deletes_of is not None,
            each.identity,
        )
        packed += _FILE.pack(*head) + path + deletes_of
    return bytes(packed)


def unpack_files(answer: bytes) -> Iterator[FileAnswer]:
    """Yield the files in a parser's result. Raises `UnreadableInputError` if it is malformed."""
    for head, paths in _unpack(_FILE, answer):
        _, length, status, content, *optional, records, has_file, identity = head
        if status not in CODES or content not in CODES or length > len(paths) or records < 0:
            raise UnreadableInputError(_MALFORMED)
        path, deletes_of = _text(paths[: len(paths) - length]), _text(paths[len(paths) - length :])
        numbers = _unpack_optional(optional)
        yield FileAnswer(path, status, content, *numbers, deletes_of if has_file else None, records, identity)


def _pack_optional(*numbers: int | None) -> Iterator[int]:
    """Yield each number after whether it is present."""
    for each in numbers:
        yield each is not None
        yield each or 0


def _unpack_optional(values: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return the three numbers, each of which is preceded by whether it is present, or None."""
    is_first, first, is_second, second, is_third, third = values
    return first if is_first else None, second if is_second else None, third if is_third else None


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
