"""Metadata of a table as a JSON document, in each version of the format that Headgate supports."""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, Field
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil, TableMetadataV3
from pyiceberg.typedef import IcebergBaseModel
from typing_extensions import override

from headgate.lake.metadata_v1 import FIRST_VERSION, parse_document_v1
from headgate.lake.row_lineage import without_row_ids
from headgate.lake.schema_documents import (
    decode_schema,
    list_objects,
    refuse_several_sources,
    refuse_unsupported_snapshot,
)
from headgate.untrusted_input.json_documents import distinct_members

ROW_LINEAGE: Final = 3
"""The first format version with row ids, column defaults, deletion vectors and the types of `column_types`."""
FORMAT_VERSIONS: Final = (1, 2, 3)
SUPPORTED_VERSIONS: Final = "1, 2 and 3"
"""`FORMAT_VERSIONS` in messages."""


class WritableMetadataV3(TableMetadataV3):
    """Metadata of format version 3 that can be written, which PyIceberg's own model refuses."""

    @override
    def model_dump_json(
        self, exclude_none: bool = True, exclude: Any | None = None, by_alias: bool = True, **kwargs: Any
    ) -> str:
        """Return the metadata as JSON text."""
        return IcebergBaseModel.model_dump_json(
            self, exclude_none=exclude_none, exclude=exclude, by_alias=by_alias, **kwargs
        )


class _Version(BaseModel):
    format_version: int = Field(alias="format-version")
    table_uuid: Any = Field(alias="table-uuid", default=None)


def parse_table_document(text: str) -> TableMetadata:
    """Return the metadata in a JSON text. Raises `ValueError` or an error of PyIceberg's models."""
    version = _Version.model_validate_json(text)
    if version.table_uuid is None:
        raise ValueError(
            "the metadata has no `table-uuid`, which only format version 1 may leave out; commit a change with a current Iceberg "
            "library, which assigns one"
        )
    if version.format_version not in (FIRST_VERSION, ROW_LINEAGE):
        return TableMetadataUtil.parse_raw(text)
    document = cast("Mapping[str, Any]", json.loads(text, object_pairs_hook=distinct_members))
    _refuse_unsupported(document)
    if version.format_version == FIRST_VERSION:
        return parse_document_v1(document)
    schemas = document.get("schemas")
    decoded = [decode_schema(each) for each in cast("list[Any]", schemas)] if isinstance(schemas, list) else schemas
    return WritableMetadataV3.model_validate({**document, "schemas": decoded})


def convert_metadata(metadata: TableMetadata, version: int) -> TableMetadata:
    """Return the metadata in a later format version, without validation: the calling code parses the result again."""
    if version != ROW_LINEAGE:
        return TableMetadataUtil._construct_without_validation(metadata.model_copy(update={"format_version": version}))  # noqa: SLF001 (as PyIceberg upgrades)
    shared = type(metadata).model_fields.keys() & WritableMetadataV3.model_fields.keys()
    fields = {name: getattr(metadata, name) for name in shared}
    # Rows of earlier snapshots have no ids; the first commit after the upgrade assigns them.
    snapshots = [without_row_ids(each) for each in metadata.snapshots]
    return WritableMetadataV3.model_construct(
        **{**fields, "snapshots": snapshots, "format_version": version, "next_row_id": 0}
    )


def _refuse_unsupported(document: Mapping[str, Any]) -> None:
    if document.get("encryption-keys"):
        raise ValueError("the metadata has `encryption-keys`, but encrypted tables are not supported")
    for snapshot in list_objects(document, "snapshots"):
        refuse_unsupported_snapshot(snapshot)
    for key in ("partition-specs", "sort-orders"):
        for each in list_objects(document, key):
            refuse_several_sources(each)
