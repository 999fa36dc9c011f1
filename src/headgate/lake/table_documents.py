"""Metadata of a table as a JSON document, in each version of the format that Headgate supports."""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, Field
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil, TableMetadataV3
from pyiceberg.typedef import IcebergBaseModel
from typing_extensions import override

from headgate.lake.row_lineage import without_row_ids
from headgate.lake.schema_documents import decode_schema, refuse_encrypted, refuse_several_sources
from headgate.untrusted_input.json_documents import distinct_members

ROW_LINEAGE: Final = 3
"""The first format version with row ids, column defaults, deletion vectors and the types of `column_types`."""
FORMAT_VERSIONS: Final = (2, 3)
"""Version 1 can name manifests without a manifest list."""


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


def parse_table_document(text: str) -> TableMetadata:
    """Return the metadata in a JSON text. Raises `ValueError` or an error of PyIceberg's models."""
    if _Version.model_validate_json(text).format_version != ROW_LINEAGE:
        return TableMetadataUtil.parse_raw(text)
    document: Any = json.loads(text, object_pairs_hook=distinct_members)
    return WritableMetadataV3.model_validate(_decode(cast("Mapping[str, Any]", document)))


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


def _decode(document: Mapping[str, Any]) -> dict[str, Any]:
    if document.get("encryption-keys"):
        raise ValueError("the metadata has `encryption-keys`, but encrypted tables are not supported")
    schemas, snapshots = document.get("schemas"), document.get("snapshots")
    refuse_encrypted(cast("list[Any]", snapshots) if isinstance(snapshots, list) else ())
    for key in ("partition-specs", "sort-orders"):
        found = document.get(key)
        for each in cast("list[Any]", found) if isinstance(found, list) else ():
            refuse_several_sources(each)
    decoded = [decode_schema(each) for each in cast("list[Any]", schemas)] if isinstance(schemas, list) else schemas
    return {**document, "schemas": decoded}
