"""Metadata of a table of format version 1, as Iceberg's Java library writes it and as its early versions did; and changes of it."""

from collections.abc import Callable
from typing import Any, Final

from tests.lake.test_java_metadata_rules import TABLE, changed

Document = dict[str, Any]
Change = Callable[[Document], object]


def _first(document: Document) -> None:
    del document["last-sequence-number"]
    for each in document["snapshots"]:
        del each["sequence-number"]
    for position, field in enumerate(document["partition-specs"][1]["fields"]):
        field["field-id"] = 1000 + position
    document |= {
        "format-version": 1,
        "schema": document["schemas"][-1],
        "partition-spec": document["partition-specs"][1]["fields"],
        "last-partition-id": 1001,
    }


TABLE_V1: Final = changed(TABLE, _first)


def _early(document: Document) -> None:
    """Leave out every field that only later versions require, and the ids of partition fields."""
    for key in (
        "schemas",
        "current-schema-id",
        "partition-specs",
        "default-spec-id",
        "last-partition-id",
        "sort-orders",
        "default-sort-order-id",
        "refs",
        "statistics",
        "partition-statistics",
    ):
        document.pop(key, None)
    for field in document["partition-spec"]:
        field.pop("field-id", None)
    for each in document["snapshots"]:
        each.pop("schema-id", None)


EARLY: Final = changed(TABLE_V1, _early)


def spec(*fields: tuple[int, str, int], default: bool = False) -> Change:
    """Add a partition spec of these fields: each with its source, transform and id."""

    def change(document: Document) -> None:
        named = [
            {"source-id": source, "field-id": id, "name": f"f{at}", "transform": transform}
            for at, (source, transform, id) in enumerate(fields)
        ]
        document["partition-specs"].append({"spec-id": 7, "fields": named})
        document["last-partition-id"] = 1009
        if default:
            document["default-spec-id"] = 7

    return change


def _snapshot(**more: Any) -> Change:
    return lambda document: document["snapshots"][1].update(
        {key.replace("_", "-"): value for key, value in more.items()}
    )


READABLE: Final[dict[str, tuple[Document, Change]]] = {
    "as Java writes it": (TABLE_V1, lambda document: document),
    "as early versions wrote it": (EARLY, lambda document: document),
    "an early schema with an id": (EARLY, lambda document: document["schema"].update({"schema-id": 4})),
    "an early schema without an id": (EARLY, lambda document: document["schema"].pop("schema-id")),
    "an early table without partitions": (EARLY, lambda document: document.update({"partition-spec": []})),
    "a sequence number of 0": (TABLE_V1, _snapshot(sequence_number=0)),
    "another schema beside the list": (TABLE_V1, lambda document: document.update({"schema": document["schemas"][0]})),
    "another spec beside the list": (TABLE_V1, lambda document: document.update({"partition-spec": []})),
    "a void field": (TABLE_V1, spec((1, "void", 1000), (2, "truncate[3]", 1001), default=True)),
    "a field at the end": (
        TABLE_V1,
        spec((1, "bucket[16]", 1000), (2, "truncate[3]", 1001), (3, "identity", 1002), default=True),
    ),
    "specs of dropped columns": (TABLE_V1, lambda document: (
        spec((1, "bucket[16]", 1000), (2, "truncate[3]", 1001), (70, "identity", 1002))(document),
        document["partition-specs"].append({**document["partition-specs"][-1], "spec-id": 8, "fields": [
            *document["partition-specs"][1]["fields"],
            {"source-id": 71, "field-id": 1002, "name": "z", "transform": "identity"},
        ]}),
    )),
}  # fmt: skip
"""Metadata that Java opens, and Headgate accepts."""
UNREADABLE: Final[dict[str, tuple[Document, Change, str]]] = {
    "a snapshot with a sequence number": (TABLE_V1, _snapshot(sequence_number=2), "has a `sequence-number`"),
    "no schema": (EARLY, lambda document: document.pop("schema"), "neither `schemas` nor `schema`"),
    "an empty list of schemas": (TABLE_V1, lambda document: document.update({"schemas": []}), "no schema in `schemas`"),
    "a schema that is a text": (EARLY, lambda document: document.update({"schema": "x"}), "neither `schemas`"),
    "no current schema": (TABLE_V1, lambda document: document.update({"current-schema-id": 9}), "current-schema-id 9"),
    "no spec": (EARLY, lambda document: document.pop("partition-spec"), "neither `partition-specs` nor"),
    "no default spec": (TABLE_V1, lambda document: document.update({"default-spec-id": 9}), "default-spec-id 9"),
    "no default order": (TABLE_V1, lambda document: document.update({"default-sort-order-id": 9}), "default-sort-order"),
    "a spec that is a text": (TABLE_V1, lambda document: document["partition-specs"].append("x"), "not valid"),
    "a spec with fields that are a text": (EARLY, lambda document: document.update({"partition-spec": "x"}), "not valid"),
    "a spec of ids that are texts": (EARLY, lambda document: document["partition-spec"][0].update({"field-id": "x"}), "and one without"),
    "a last partition id that is a text": (TABLE_V1, lambda document: document.update({"last-partition-id": "x"}), "not valid"),
    "a transform of two columns": (
        TABLE_V1,
        lambda document: document["partition-specs"][-1]["fields"][0].update({"source-ids": [1, 2]}),
        "several `source-ids`",
    ),
}  # fmt: skip
"""Metadata that Java does not open, or that PyIceberg cannot read, with the words of the refusal."""
UNUSED: Final[dict[str, tuple[Change, str]]] = {
    "a gap in the ids": (spec((1, "bucket[16]", 1000), (2, "truncate[3]", 1002)), "with other ids than 1000"),
    "ids from another number": (spec((1, "bucket[16]", 1001)), "with other ids than 1000"),
    "ids in another order": (spec((1, "bucket[16]", 1001), (2, "truncate[3]", 1000)), "with other ids than 1000"),
    "another transform at a position": (spec((1, "bucket[8]", 1000)), "use the id 1000 for different fields"),
    "another column at a position": (spec((2, "truncate[3]", 1000)), "use the id 1000 for different fields"),
    "a void of another column": (spec((2, "void", 1000)), "use the id 1000 for different fields"),
}
"""Partition specs that Java opens, but does not add to a table of version 1 or cannot scan with."""
UNSUPPORTED: Final[dict[str, tuple[Change, str]]] = {
    "manifests without a list": (
        lambda document: document["snapshots"][0].update({"manifests": [document["snapshots"][0].pop("manifest-list")]}),
        "names its `manifests`",
    ),
    "an encrypted manifest list": (_snapshot(key_id="k"), "encrypted manifest lists"),
    "encryption keys": (
        lambda document: document.update({"encryption-keys": [{"key-id": "k", "encrypted-key-metadata": "AA=="}]}),
        "encrypted tables",
    ),
    "no uuid": (lambda document: document.pop("table-uuid"), "no `table-uuid`"),
}  # fmt: skip
"""Metadata that Java opens, and Headgate refuses."""
