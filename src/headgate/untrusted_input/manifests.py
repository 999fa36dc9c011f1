"""Iceberg's manifest lists and manifests: parses all fields of each format version, and keeps those that Headgate uses."""

import hashlib
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, TypeVar

from headgate.untrusted_input.avro import read_records
from headgate.untrusted_input.avro_values import AnyPartition, AvroRecord, AvroScalar, AvroShape, Items, Pairs
from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError
from headgate.untrusted_input.manifest_answers import CODES, FileAnswer, ManifestAnswer, pack_files, pack_manifests

T = TypeVar("T")

MAX_RECORDS: Final = 1_000_000
"""The limit of records of one file."""

_INT: Final = AvroScalar.INTEGER
_SUMMARY: Final = AvroRecord(
    {509: AvroScalar.BOOLEAN, 518: AvroScalar.BOOLEAN, 510: AvroScalar.BYTES, 511: AvroScalar.BYTES}, frozenset({509})
)

MANIFEST_LIST: Final = AvroRecord(
    {
        500: AvroScalar.TEXT,
        **dict.fromkeys((501, 502, 503, 504, 505, 506, 512, 513, 514, 515, 516, 517, 520), _INT),
        507: Items(_SUMMARY),
        519: AvroScalar.BYTES,
    },
    frozenset({500, 501, 502, 503}),
)
"""The record of a manifest list, in versions 1 to 3 of the format."""

_COUNTS: Final[Mapping[int, AvroShape]] = {
    108: Pairs(117, 118, _INT),
    109: Pairs(119, 120, _INT),
    110: Pairs(121, 122, _INT),
    111: Pairs(123, 124, _INT),
    137: Pairs(138, 139, _INT),
    125: Pairs(126, 127, AvroScalar.BYTES),
    128: Pairs(129, 130, AvroScalar.BYTES),
}
DATA_FILE: Final = AvroRecord(
    {
        **dict.fromkeys((134, 103, 104, 105, 106, 140, 142, 144, 145), _INT),
        **dict.fromkeys((100, 101, 143), AvroScalar.TEXT),
        102: AnyPartition.PARTITION,
        **_COUNTS,
        131: AvroScalar.BYTES,
        **dict.fromkeys((107, 132, 135), Items(_INT)),
    },
    frozenset({100, 101, 102, 103, 104}),
)
MANIFEST: Final = AvroRecord({**dict.fromkeys((0, 1, 3, 4), _INT), 2: DATA_FILE}, frozenset({0, 2}))
"""The record of a manifest, in versions 1 to 3 of the format."""

_OF_THE_PAST: Final = frozenset({105, 106, 107})
"""Deprecated fields that no reader uses any more."""
_FIRST_ROW_ID: Final = 142
"""The id of a data file's first row. A file inherits it until a manifest is rewritten, and no scan skips rows by it, so it is no
part of the identity."""
_LIST_FIRST_ROW_ID: Final = 520
_DATA: Final = 0
_POSITION_DELETES: Final = 1
_MANIFEST_CONTENTS: Final = range(2)
"""The content of a manifest: data files or delete files."""
_FORMATS: Final = frozenset({"AVRO", "PARQUET", "ORC", "PUFFIN"})
_LEAVES: Final = frozenset({int, bytes, str})


def read_manifest_list(document: bytes | bytearray) -> bytes:
    """Return the manifests in a manifest list, encoded for `unpack_manifests`.

    Raises `UnreadableInputError` or `OversizedInputError`.
    """
    return pack_manifests(_bounded(_manifest(each) for each in read_records(bytes(document), MANIFEST_LIST)))


def read_manifest(document: bytes | bytearray) -> bytes:
    """Return the files in a manifest, encoded for `unpack_files`.

    Raises `UnreadableInputError` or `OversizedInputError`.
    """
    return pack_files(_bounded(_file(each) for each in read_records(bytes(document), MANIFEST)))


def _manifest(record: Mapping[int, Any]) -> ManifestAnswer:
    # Version 1 lacks these three fields, and Iceberg reads them as 0.
    record = {**record, **{id: record.get(id) or 0 for id in (515, 516, 517)}}
    return ManifestAnswer(
        path=_require_field(record, 500, "manifest_path"),
        partition_spec_id=_require_field(record, 502, "partition_spec_id"),
        sequence_number=record[515],
        min_sequence_number=record[516],
        is_data=_require_known("the manifest list", "content", record[517], _MANIFEST_CONTENTS) == _DATA,
        is_encrypted=bool(record.get(519)),
        first_row_id=record.get(_LIST_FIRST_ROW_ID),
        added_rows=record.get(512),
        existing_rows=record.get(513),
        identity=_identity({**record, _LIST_FIRST_ROW_ID: None}),
    )


def _file(record: Mapping[int, Any]) -> FileAnswer:
    file: Mapping[int, Any] = _require_field(record, 2, "data_file")
    form = _require_field(file, 101, "file_format").upper()
    status, content = _require_field(record, 0, "status"), file.get(134) or 0
    for name, value, known in (
        ("file_format", form, _FORMATS),
        ("status", status, CODES),
        ("content", content, CODES),
    ):
        _require_known("the manifest", name, value, known)
    kept = {id: value for id, value in file.items() if id not in _OF_THE_PAST} | {
        101: form,
        134: content,
        _FIRST_ROW_ID: None,
    }
    return FileAnswer(
        path=_require_field(file, 100, "file_path"),
        status=status,
        content=content,
        sequence_number=record.get(3),
        file_sequence_number=record.get(4),
        first_row_id=file.get(_FIRST_ROW_ID),
        deletes_of=file.get(143) if content == _POSITION_DELETES else None,
        records=_require_field(file, 103, "record_count"),
        identity=_identity(kept),
    )


def _require_field(record: Mapping[int, Any], id: int, name: str) -> Any:
    value = record[id]
    if value is None:
        raise UnreadableInputError(
            f"a record of the Avro file has no value for the field `{name}` (id {id}); write the file again with an Iceberg library"
        )
    return value


def _require_known(place: str, name: str, value: T, known: Container[T]) -> T:
    """Return the value of a field. Raises `UnreadableInputError` for a value that Iceberg's specification does not have."""
    if value not in known:
        raise UnreadableInputError(
            f"an entry of {place} has a `{name}` that is not in Iceberg's specification; write the file again with an Iceberg library"
        )
    return value


def _identity(record: Mapping[int, Any]) -> bytes:
    """Return a digest of all values; it is equal for records with the same values, independent of their encoding."""
    return hashlib.sha256(repr(_frozen(record)).encode(errors="surrogatepass")).digest()


def _frozen(value: Any) -> Any:
    """Return the value in a canonical form: sorted, and with empty collections equal to missing ones."""
    kind = type(value)
    if kind is dict:
        pairs = [(key, each if type(each) in _LEAVES else _frozen(each)) for key, each in value.items()]
        return tuple(sorted(pair for pair in pairs if pair[1] is not None)) or None
    if kind is list:
        return tuple(map(_frozen, value)) or None
    return value


def _bounded(records: Iterable[Any]) -> Iterable[Any]:
    for number, each in enumerate(records):
        if number >= MAX_RECORDS:
            raise OversizedInputError(f"the Avro file has more than {MAX_RECORDS:,} records; write smaller manifests")
        yield each
