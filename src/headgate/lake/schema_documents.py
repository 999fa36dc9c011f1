"""Schemas in JSON documents: types that PyIceberg cannot read are parsed, and defaults checked, before PyIceberg reads the rest.

Members of a document that Iceberg's specification does not have are ignored, as Iceberg's Java library ignores them: later
versions add optional ones. A member that states an unsupported feature is refused: without it, the rest has another meaning.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, cast

from pydantic import BeforeValidator
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortOrder
from pyiceberg.table.update import TableUpdate
from pyiceberg.types import IcebergType, PrimitiveType

from headgate.lake.column_defaults import is_default_of
from headgate.lake.column_types import parse_opaque_type

_DEFAULTS: Final = ("initial-default", "write-default")
_TYPES: Final = ("element", "key", "value")
_MAX_DEPTH: Final = 100
"""The limit of levels of nested columns."""


def decode_schema(document: Any, depth: int = 0) -> Any:
    """Return the JSON document of a schema or struct for PyIceberg's model. Raises `ValueError` for a type or default.

    A document of another form is returned as it is: PyIceberg's model refuses it.
    """
    if not isinstance(document, dict):
        return document
    struct = cast("dict[str, Any]", document)
    fields = struct.get("fields")
    if not isinstance(fields, list):
        return struct
    return {**struct, "fields": [_decode_field(each, depth + 1) for each in cast("list[Any]", fields)]}


def decode_update(document: Any) -> Any:
    """Return the JSON document of an update of a table for PyIceberg's model.

    Raises `ValueError` for a schema that is not valid, and for a member that states an unsupported feature: PyIceberg would leave
    it out.
    """
    if not isinstance(document, dict):
        return document
    update = cast("dict[str, Any]", document)
    match update.get("action"):
        case "add-schema":
            return {**update, "schema": decode_schema(update.get("schema"))}
        case "add-snapshot":
            refuse_unsupported_snapshot(update.get("snapshot"))
        case "add-spec":
            refuse_several_sources(update.get("spec"))
        case "add-sort-order":
            refuse_several_sources(update.get("sort-order"))
        case _:
            pass
    return update


def list_objects(document: Any, key: str) -> Sequence[Mapping[str, Any]]:
    """Return the objects in a list of a JSON document; values of another form are left to PyIceberg's models, which refuse them."""
    entries = _as_object(document).get(key)
    return [_as_object(each) for each in cast("list[Any]", entries)] if isinstance(entries, list) else []


def refuse_unsupported_snapshot(document: Any) -> None:
    """Raise `ValueError` for the JSON document of a snapshot whose manifest list is encrypted, or that has none."""
    snapshot = _as_object(document)
    if snapshot.get("key-id") is not None:
        raise ValueError("a snapshot has a `key-id`, but encrypted manifest lists are not supported; leave it out")
    if snapshot.get("manifests") is not None:
        raise ValueError(
            "a snapshot names its `manifests` in the metadata, which is not supported; write a manifest list, and expire the "
            "snapshots without one"
        )


def refuse_several_sources(document: Any) -> Any:
    """Return the JSON document of a partition spec or sort order. Raises `ValueError` for a transform of several columns.

    PyIceberg would keep one of the columns.
    """
    for field in list_objects(document, "fields"):
        sources = field.get("source-ids")
        if isinstance(sources, list) and len(cast("list[Any]", sources)) != 1:
            raise ValueError(
                "a field of a partition spec or sort order has several `source-ids`, but transforms of several columns are not "
                "supported; name one column"
            )
    return document


def _as_object(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one for a value of another form."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _decode_field(document: Any, depth: int) -> Any:
    if not isinstance(document, dict):
        return document
    field = {**cast("dict[str, Any]", document)}
    field["type"] = _decode_type(field.get("type"), depth)
    for key in _DEFAULTS:
        # Java writes no default as a missing member; null is the same.
        if field.get(key) is None:
            field.pop(key, None)
        elif not _is_default(field["type"], field[key]):
            raise ValueError(
                f"the `{key}` of the column `{str(field.get('name'))[:100]}` is not a value of the column's type in "
                "Iceberg's JSON form; correct it, or leave it out"
            )
    return field


def _is_default(type: Any, value: Any) -> bool:
    if isinstance(type, str):
        type = IcebergType.handle_primitive_type(type, None)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return isinstance(type, PrimitiveType) and is_default_of(type, value)


def _decode_type(document: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ValueError(f"a column is nested more than {_MAX_DEPTH} levels deep; flatten it")
    if isinstance(document, str):
        return parse_opaque_type(document) or document
    if not isinstance(document, dict):
        return document
    nested = cast("dict[str, Any]", document)
    if nested.get("type") == "struct":
        return decode_schema(nested, depth)
    below = {key: _decode_type(nested[key], depth + 1) for key in _TYPES if key in nested}
    return {**nested, **below}


DocumentSchema = Annotated[Schema, BeforeValidator(decode_schema)]
"""A schema in a request or a metadata file."""
DocumentSpec = Annotated[PartitionSpec, BeforeValidator(refuse_several_sources)]
"""A partition spec in a request."""
DocumentOrder = Annotated[SortOrder, BeforeValidator(refuse_several_sources)]
"""A sort order in a request."""
DocumentUpdate = Annotated[TableUpdate, BeforeValidator(decode_update)]
"""An update of a table in a request."""
