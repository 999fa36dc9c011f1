"""Metadata of format version 1: read as Iceberg's Java library reads it, with the fields of later versions, which may be missing.

Sources: the columns "v1" of the Iceberg specification; `TableMetadataParser`, `PartitionSpec.hasSequentialIds` and `Partitioning` of
Apache Iceberg.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self, cast

from pydantic import Field, model_validator
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField
from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table.metadata import (
    TableMetadata,
    TableMetadataV1,
    check_partition_specs,
    check_schemas,
    check_sort_orders,
)
from pyiceberg.table.update import TableUpdate
from pyiceberg.transforms import VoidTransform
from typing_extensions import override

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.schema_documents import list_objects
from headgate.lake.table_updates import list_added_snapshots

FIRST_VERSION: Final = 1
"""The format version without sequence numbers and delete files."""
_SINGLE: Final = ("schema", "partition-spec")
"""The fields with copies of the current schema and partition spec, which Java ignores if it reads `schemas` and `partition-specs`."""


class ReadableMetadataV1(TableMetadataV1):
    """Metadata of format version 1 that keeps `last-partition-id`, which PyIceberg's own model replaces by the highest id in use."""

    schema_: Schema = Field(alias="schema", default_factory=Schema)

    @model_validator(mode="before")
    @classmethod
    @override
    def construct_partition_specs(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Return the document as it is: `parse_document_v1` has completed it."""
        return data

    @model_validator(mode="after")
    def check_current_ids(self) -> Self:
        """Raise PyIceberg's `ValidationError` for a current schema, spec or sort order that is missing, as for later versions."""
        check_schemas(self)
        check_partition_specs(self)
        check_sort_orders(self)
        return self


def parse_document_v1(document: Mapping[str, Any]) -> TableMetadata:
    """Return the metadata in a JSON document, whose current schema and partition spec have consistent copies.

    Raises `ValueError` or an error of PyIceberg's models.
    """
    _require_no_sequence_numbers(document)
    kept = {key: value for key, value in document.items() if key not in _SINGLE}
    read = ReadableMetadataV1.model_validate({**kept, **_schemas(document), **_specs(document), "format-version": 1})
    fields = [field.model_dump() for field in read.spec().fields]
    return read.model_copy(update={"schema_": read.schema(), "partition_spec": fields})


def check_no_sequence_number(updates: Iterable[TableUpdate]) -> None:
    """Raise `InvalidMetadataError` for a new snapshot with a sequence number: version 1 has none."""
    for snapshot in list_added_snapshots(updates):
        if snapshot.sequence_number:
            raise InvalidMetadataError(
                f"the new snapshot {snapshot.snapshot_id} has a `sequence-number`, which tables of format version 1 do not "
                "have; leave it out"
            )


def require_specs_v1(metadata: TableMetadata) -> None:
    """Raise `InvalidMetadataError` for partition specs that Iceberg's Java library does not use in a table of version 1.

    Version 1 assigns the ids of partition fields by position, so a position keeps its column and transform; a dropped field
    becomes `void`.
    """
    by_id = defaultdict[int, list[PartitionField]](list)
    for spec in metadata.partition_specs:
        if [each.field_id for each in spec.fields] != _ids_by_position(spec.fields):
            raise InvalidMetadataError(
                f"the partition spec {spec.spec_id} of a table of format version 1 has fields with other ids than "
                f"{PARTITION_FIELD_ID_START}, {PARTITION_FIELD_ID_START + 1} and so on; number the fields by their position"
            )
        for field in spec.fields:
            by_id[field.field_id].append(field)
    columns = index_by_id(metadata.schema()).keys()
    for fields in by_id.values():
        if any(each.source_id in columns for each in fields) and not _are_compatible(fields):
            raise InvalidMetadataError(
                f"two partition specs of a table of format version 1 use the id {fields[0].field_id} for different fields; keep each "
                "field at its position, let a dropped field have the transform `void`, and add new fields at the end"
            )


def _are_compatible(fields: Iterable[PartitionField]) -> bool:
    used = [each for each in fields if not isinstance(each.transform, VoidTransform)]
    return len({each.source_id for each in fields}) == 1 and len({str(each.transform) for each in used}) <= 1


def _require_no_sequence_numbers(document: Mapping[str, Any]) -> None:
    for each in list_objects(document, "snapshots"):
        if each.get("sequence-number") not in (None, 0):
            raise ValueError(
                "a snapshot has a `sequence-number`, which tables of format version 1 do not have; leave it out"
            )


def _schemas(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields `schemas` and `current-schema-id`, from `schema` if they are missing."""
    schemas, schema = document.get("schemas"), document.get("schema")
    if schemas is not None:
        if not isinstance(schemas, list) or not schemas:
            raise ValueError("the metadata has no schema in `schemas`; write the current schema there")
        return {"schemas": cast("list[Any]", schemas)}
    if not (isinstance(schema, dict) and schema):
        raise ValueError("the metadata has neither `schemas` nor `schema`; write one of them")
    only = {"schema-id": 0, **cast("dict[str, Any]", schema)}
    return {"schemas": [only], "current-schema-id": only["schema-id"]}


def _specs(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the partition specs, from `partition-spec` if they are missing, with the highest partition id."""
    specs, fields = document.get("partition-specs"), document.get("partition-spec")
    said: dict[str, Any] = {}
    if specs is None:
        if fields is None:
            raise ValueError("the metadata has neither `partition-specs` nor `partition-spec`; write one of them")
        specs, said = [{"spec-id": 0, "fields": fields}], {"default-spec-id": 0}
    whole = [_with_ids(each) for each in cast("list[dict[str, Any]]", specs)]
    ids = [field["field-id"] for each in whole for field in each["fields"]]
    last = document.get("last-partition-id")
    return {
        **said,
        "partition-specs": whole,
        "last-partition-id": max([PARTITION_FIELD_ID_START - 1, *ids, *(() if last is None else (last,))]),
    }


def _with_ids(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a partition spec whose fields have ids: early versions of Iceberg's library did not write them."""
    fields = cast("list[dict[str, Any]]", spec.get("fields", ()))
    has_ids = [each.get("field-id") is not None for each in fields]
    if all(has_ids):
        return {**spec, "fields": fields}
    if any(has_ids):
        raise ValueError("a partition spec has a field with a `field-id` and one without; write the ids of all fields")
    numbered = zip(fields, _ids_by_position(fields), strict=True)
    return {**spec, "fields": [{**each, "field-id": id} for each, id in numbered]}


def _ids_by_position(fields: Sequence[object]) -> list[int]:
    return list(range(PARTITION_FIELD_ID_START, PARTITION_FIELD_ID_START + len(fields)))
