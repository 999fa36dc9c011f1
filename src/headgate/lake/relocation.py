"""Relocation of a table to another folder: each path below the old location becomes a path below the new one.

Iceberg writes absolute paths into metadata files, manifest lists, manifests and position deletes, so these are rewritten;
all other files stay unchanged.
"""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.lake.containment import is_inside, path_of
from headgate.lake.errors import InvalidMetadataError, RuleError

_PATHS: Final = frozenset({"location", "manifest-list", "metadata-file", "statistics-path"})
"""The keys of a metadata file whose values are paths."""
_FILE_PATH: Final = 2147483546
"""The field id of the file path in position deletes; manifests have bounds of it, too."""
_BOUNDS: Final = ("lower_bounds", "upper_bounds")
_POSITION_DELETES: Final = 1
"""The content type of a position-delete file in a manifest."""


@dataclass(frozen=True, slots=True)
class Relocation:
    """The move of a table from one location to another."""

    old: str
    new: str

    def path(self, path: str) -> str:
        """Return the path of a file after the move. Raises `RuleError` for a file outside of the table's location."""
        if not is_inside(self.old, path):
            raise RuleError(
                "the table has a file outside of its location, so it cannot be moved; rewrite the table's data and manifests first"
            )
        return self.new + path_of(path).removeprefix(path_of(self.old))

    def metadata(self, metadata: object) -> bytes:
        """Return a rewritten metadata file of a table or view. `metadata` is the parsed JSON of the file."""
        return json.dumps(self._relocate_value(metadata)).encode()

    def manifest_list(self, content: bytes, lengths: Mapping[str, int]) -> bytes:
        """Return a rewritten manifest list. `lengths` are the sizes of the manifests after the move, by their new paths."""

        def moved(record: dict[str, Any]) -> dict[str, Any]:
            path = self.path(record["manifest_path"])
            return record | {"manifest_path": path, "manifest_length": lengths[path]}

        return _rewritten(content, moved)

    def manifest(self, content: bytes, sizes: Mapping[str, int]) -> bytes:
        """Return a rewritten manifest. `sizes` are the new sizes of the files that the move changes, by their new paths."""

        def moved(record: dict[str, Any]) -> dict[str, Any]:
            file = dict(record["data_file"])
            path = self.path(file["file_path"])
            file |= {"file_path": path, "file_size_in_bytes": sizes.get(path, file["file_size_in_bytes"])}
            if file.get("referenced_data_file") is not None:
                file["referenced_data_file"] = self.path(file["referenced_data_file"])
            for bounds in _BOUNDS:
                if file.get(bounds) is not None:
                    file[bounds] = [each for each in file[bounds] if each["key"] != _FILE_PATH]
            return record | {"data_file": file}

        return _rewritten(content, moved)

    def position_deletes(self, content: bytes) -> bytes:
        """Return a rewritten Parquet file of position deletes."""
        table: pa.Table = pq.read_table(io.BytesIO(content))
        index = table.schema.get_field_index("file_path")
        paths = [self.path(each) for each in table.column(index).to_pylist()]
        written = io.BytesIO()
        pq.write_table(table.set_column(index, table.schema.field(index), pa.array(paths, pa.string())), written)
        return written.getvalue()

    def _relocate_value(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            said: dict[str, Any] = value
            return {each: self._relocate_value(below, each) for each, below in said.items()}
        if isinstance(value, list):
            items: list[Any] = value
            return [self._relocate_value(each) for each in items]
        if key in _PATHS and isinstance(value, str):
            return self.new if value.rstrip("/") == self.old.rstrip("/") else self.path(value)
        return value


def manifests_of(manifest_list: bytes) -> list[str]:
    """Return the paths of the manifests that a manifest list names."""
    return [str(record["manifest_path"]) for record in _records(manifest_list)]


def position_deletes_of(manifest: bytes) -> list[str]:
    """Return the paths of the position-delete files in a manifest. Raises `InvalidMetadataError` unless all are Parquet."""
    files = [record["data_file"] for record in _records(manifest)]
    deletes = [each for each in files if each.get("content") == _POSITION_DELETES]
    if any(str(each["file_format"]).upper() != "PARQUET" for each in deletes):
        raise InvalidMetadataError(
            "the table has position deletes or deletion vectors in a file that is not Parquet; call the procedure `rewrite_data_files` with the option `delete-file-threshold` = `1`, then `expire_snapshots`, for the table first"
        )
    return [str(each["file_path"]) for each in deletes]


def _records(content: bytes) -> list[dict[str, Any]]:
    try:
        return [record for block in fastavro.block_reader(io.BytesIO(content)) for record in _of_block(block)]
    except Exception as error:  # a table's writer made the bytes: any failure is a bad file
        raise InvalidMetadataError(
            "a manifest list or manifest of the table cannot be read; restore the file from a backup"
        ) from error


def _of_block(block: Any) -> list[dict[str, Any]]:
    # Values are kept as stored, without logical types: Python cannot represent every date.
    schema = _without_logical_types(block.writer_schema)
    return [fastavro.schemaless_reader(block.bytes_, schema, None) for _ in range(block.num_records)]  # type: ignore[misc]


def _rewritten(content: bytes, moved: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    records = [moved(each) for each in _records(content)]
    reader: Any = fastavro.block_reader(io.BytesIO(content))
    kept = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
    written = io.BytesIO()
    fastavro.writer(written, reader.writer_schema, records, codec="deflate", metadata=kept)
    return written.getvalue()


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, dict):
        said: dict[str, Any] = schema
        left_out = ("logicalType", "__fastavro_parsed__", "__named_schemas")
        return {key: _without_logical_types(each) for key, each in said.items() if key not in left_out}
    if isinstance(schema, list):
        items: list[Any] = schema
        return [_without_logical_types(each) for each in items]
    return schema
