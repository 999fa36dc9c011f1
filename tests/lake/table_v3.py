"""Metadata of a table of format version 3: all new types, defaults of every type, and row lineage; and changes of it."""

from collections.abc import Callable
from typing import Any, Final

from tests.lake.test_java_metadata_rules import TABLE, changed

Document = dict[str, Any]
Change = Callable[[Document], object]

DEFAULTS: Final[dict[str, list[Any]]] = {
    "boolean": [True, False],
    "int": [0, -(2**31), 2**31 - 1],
    "long": [2**63 - 1],
    "float": [0.5, 1.0],
    "double": [-1.5e300, 3.0],
    "decimal(9, 2)": ["1.50", "-1234567.89", "0.00"],
    "decimal(5, 0)": ["7"],
    "decimal(18, 8)": ["0.00000000", "-0.00000001"],
    "decimal(38, 38)": ["0." + "0" * 37 + "1"],
    "string": ["", "x", "gr\u00fc\u00df"],
    "uuid": ["f79c3e09-677c-4bbd-a479-3f349cb785e7"],
    "fixed[2]": ["0AFF", "0aff"],
    "binary": ["", "0A"],
    "date": ["2024-02-29", "0001-01-01"],
    "time": ["10:00:01", "10:00:01.000001"],
    "timestamp": ["2024-01-01T00:00:00", "2024-01-01T00:00:00.123456"],
    "timestamptz": ["2024-01-01T00:00:00+00:00"],
    "timestamp_ns": ["2024-01-01T00:00:00.123456789"],
    "timestamptz_ns": ["2024-01-01T00:00:00.000000001+00:00"],
}
"""Values of each type that may be its default."""
BAD_DEFAULTS: Final[dict[str, list[Any]]] = {
    "boolean": ["true", 1],
    "int": [2**31, "1", 1.5, True],
    "long": [2**63, "1"],
    "float": ["1", True, 1, 1e39],
    "double": ["NaN", [1.0], 3],
    "decimal(9, 2)": ["1.5", "12345678.90", 1.5, "1e2", "x", "\u0661.00"],
    "string": [7, {"a": 1}, ["x"], "x" * 16_385],
    "uuid": ["f79c3e09", 7],
    "fixed[2]": ["0A", "0AFFFF", "zz"],
    "binary": ["0", "xy", 7],
    "date": ["2023-02-29", "19000", 19000, "2024-01-01T00:00:00"],
    "time": ["25:00:00", 7, "10:00:01.0000001"],
    "timestamp": ["2024-01-01T00:00:00+00:00", "2024-13-01T00:00:00", 7],
    "timestamptz": ["2024-01-01T00:00:00", "2024-01-01T00:00:00+01:00"],
    "timestamp_ns": ["2024-01-01T00:00:00+00:00", 7],
    "timestamptz_ns": ["2024-01-01T00:00:00"],
    "variant": [{}, "x", 1],
    "unknown": ["x", 0],
    "geometry": ["POINT (1 1)"],
}
"""Values of each type that are not its default."""
NEW_TYPES: Final = (
    "variant",
    "unknown",
    "timestamp_ns",
    "timestamptz_ns",
    "geometry",
    "geometry(srid:3857)",
    "geography",
)
BAD_TYPES: Final = (
    "variant()",
    "variants",
    "geometry()",
    "geometry('x')",
    "geometry(a,b)",
    "geography(x, y)",
    "geometry(" + "x" * 200 + ")",
)


def _add(columns: list[Document], name: str, type: Any, **more: Any) -> None:
    columns.append({"id": 100 + len(columns), "name": name, "type": type, "required": False, **more})


def _whole(document: Document) -> None:
    columns: list[Document] = document["schemas"][-1]["fields"]
    for type in NEW_TYPES:
        _add(columns, f"new {type}", type)
    for type, values in DEFAULTS.items():
        _add(columns, f"default {type}", type, **{"initial-default": values[0], "write-default": values[-1]})
    nested = {"type": "list", "element-id": 300, "element": "variant", "element-required": False}
    _add(columns, "variants", nested)
    document |= {"format-version": 3, "next-row-id": 10, "last-column-id": 300}
    document["snapshots"][1] |= {"first-row-id": 4, "added-rows": 6}


TABLE_V3: Final = changed(TABLE, _whole)


def column(type: Any, **more: Any) -> Change:
    """Add a column of the type."""
    return lambda document: (
        document["schemas"][-1]["fields"].append({"id": 400, "name": "added", "type": type, "required": False, **more})
        or document.update({"last-column-id": 400})
    )


def snapshot(**more: Any) -> Change:
    """Change the last snapshot; None removes a member."""

    def change(document: Document) -> None:
        found = {**document["snapshots"][1], **{key.replace("_", "-"): value for key, value in more.items()}}
        document["snapshots"][1] = {key: value for key, value in found.items() if value is not None}

    return change


def _spec(column_name: str) -> Change:
    def change(document: Document) -> None:
        ids = {each["name"]: each["id"] for each in document["schemas"][-1]["fields"]}
        field = {"source-id": ids[column_name], "field-id": 1001, "name": "p", "transform": "identity"}
        document["partition-specs"].append({"spec-id": 7, "fields": [field]})
        document["default-spec-id"] = 7

    return change


def _order(column_name: str) -> Change:
    def change(document: Document) -> None:
        ids = {each["name"]: each["id"] for each in document["schemas"][-1]["fields"]}
        field = {
            "source-id": ids[column_name],
            "transform": "identity",
            "direction": "asc",
            "null-order": "nulls-first",
        }
        document["sort-orders"].append({"order-id": 7, "fields": [field]})
        document["default-sort-order-id"] = 7

    return change


READABLE: Final[dict[str, Change]] = {
    "as it is": lambda document: document,
    "snapshots of before the upgrade": snapshot(first_row_id=None, added_rows=None),
    "rows without a first row id": snapshot(first_row_id=None),
    "partitioned by nanoseconds": _spec("new timestamp_ns"),
    **{f"default {type} {value!r}": column(type, **{"initial-default": value}) for type, values in DEFAULTS.items() for value in values},
    **{f"no default {type}": column(type, **{"initial-default": None}) for type in NEW_TYPES},
}  # fmt: skip
UNREADABLE: Final[dict[str, Change]] = {
    "no next row id": lambda document: document.pop("next-row-id"),
    "no next row id but null": lambda document: document.update({"next-row-id": None}),
    "a next row id below 0": lambda document: document.update({"next-row-id": -1}),
    "a next row id that is too large": lambda document: document.update({"next-row-id": 2**63}),
    "a next row id as a text": lambda document: document.update({"next-row-id": "x"}),
    "a first row id without rows": snapshot(added_rows=None),
    "a first row id below 0": snapshot(first_row_id=-1),
    "rows below 0": snapshot(added_rows=-1),
    "rows beyond the next row id": snapshot(added_rows=7),
    "an encrypted manifest list": snapshot(key_id="k"),
    "encryption keys": lambda document: document.update(
        {"encryption-keys": [{"key-id": "k", "encrypted-key-metadata": "AA=="}]}
    ),
    "partitioned by a variant": _spec("new variant"),
    "partitioned by a geometry": _spec("new geometry"),
    "sorted by a variant": _order("new variant"),
    "identified by a variant": lambda document: (
        column("variant", required=True)(document),
        document["schemas"][-1].update({"identifier-field-ids": [400]}),
    ),
    "a required unknown": column("unknown", required=True),
    **{f"the type {type[:20]}": column(type) for type in BAD_TYPES},
    **{
        f"{key} {type} {value!r}": column(type, **{key: value})
        for key in ("initial-default", "write-default")
        for type, values in BAD_DEFAULTS.items()
        for value in values
    },
    "a default of a struct": column({"type": "struct", "fields": []}, **{"initial-default": {}}),
    "a default of a list": column(
        {"type": "list", "element-id": 401, "element": "int", "element-required": False}, **{"initial-default": []}
    ),
}  # fmt: skip
