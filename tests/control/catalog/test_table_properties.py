"""One list decides which properties and values a table may have, whichever engine sets them."""

import pytest

from headgate.control.catalog.table_properties import LISTS, TABLE_PROPERTIES, describe_property_fault

GOOD = {
    "comment": "what it is",
    "format-version": "2",
    "write.format.default": "parquet",
    "Write.Format.Default": "PARQUET",
    "write.parquet.compression-codec": "zstd",
    "write.parquet.compression-level": "-3",
    "write.parquet.row-group-size-bytes": "134217728",
    "write.metadata.delete-after-commit.enabled": "true",
    "schema.name-mapping.default": '[{"field-id": 1, "names": ["a"], "fields": [{"names": ["b"]}]}]',
    "owner": "ann",
    "my-note_1": "anything",
    "my.own": "anything",
    "My.Own": "anything",
    "team.data-quality.tier_1": "gold",
    "write.object-storage.enabled": "true",
    "write.object-storage.partitioned-paths": "FALSE",
}
BAD = {
    "write.spark.accept-any-schema": "true",
    "encryption.key-id": "k",
    "encryption.data-key-length": "16",
    "parquet.crypto.factory.class": "x.Y",
    "parquet.encryption.kms.client.class": "x.Y",
    "provider": "csv",
    "path": "/etc",
    "location": "/etc",
    "io-impl": "x.Y",
    "uuid": "1",
    "current-snapshot-id": "1",
    "write.data.path": "/etc",
    "write.data.p\u0430th": "/etc",
    "write.location-provider.impl": "x.Y",
    "write.wap.enabled": "true",
    "write.object-storage.path": "/etc",
    "write.folder-storage.path": "/etc",
    "py-io-impl": "x.Y",
    "spark.jars": "x",
    "option.path": "/etc",
    "orc.encrypt": "x",
    "io.compression.codecs": "x.Y",
    "snapshot-property.a": "x",
    "my.class": "x.Y",
    "my.kms-client-class": "x.Y",
    "my.myclass": "x.Y",
    "my.impl": "x.Y",
    "my.data.path": "/etc",
    "my.path.to": "/etc",
    "my.location": "/etc",
    "my.secret_token": "x",
    "my.\u212aey": "x",
    "my.": "x",
    ".my": "x",
    "my..own": "x",
    "my own.x": "x",
    "m." + "x" * 99: "x",
    "hadoop.fs.defaultFS": "file:///",
    "fs.s3a.endpoint": "x",
    "headgate.location": "/etc",
    "": "x",
    "a b": "x",
    "n\u00f6te": "x",
    "x" * 101: "x",
}
BAD_VALUES = [
    ("write.parquet.row-group-size-bytes", "9" * 20),
    ("write.parquet.row-group-size-bytes", "0"),
    ("write.parquet.row-group-size-bytes", "134217728.0"),
    ("write.parquet.row-group-size-bytes", "\u0661\u0662"),
    ("write.parquet.compression-level", "23"),
    ("write.parquet.compression-codec", "x.Y"),
    ("write.format.default", "csv"),
    ("write.metadata.delete-after-commit.enabled", "yes"),
    ("commit.retry.num-retries", "-1"),
    ("format-version", "0"),
    ("format-version", "01"),
    ("format-version", "4"),
    ("schema.name-mapping.default", "[" * 100_000),
    ("schema.name-mapping.default", '[{"names": "a"}]'),
    ("schema.name-mapping.default", '[{"names": ["a"], "class": "x.Y"}]'),
    ("comment", "x" * 1025),
    ("my-note", "x" * 1025),
    ("my.own", "x" * 1025),
    ("write.object-storage.enabled", "/etc"),
]

RESERVED_WORDS = (LISTS / "reserved-words.txt").read_text().split("\n")


@pytest.mark.parametrize("key", GOOD)
def test_a_listed_property_or_a_note_may_be_set(key: str) -> None:
    assert describe_property_fault(key, GOOD[key]) is None


@pytest.mark.parametrize("key", BAD)
def test_any_other_property_is_refused(key: str) -> None:
    assert describe_property_fault(key, BAD[key])


@pytest.mark.parametrize(("key", "value"), BAD_VALUES)
def test_a_value_outside_its_bounds_is_refused(key: str, value: str) -> None:
    assert describe_property_fault(key, value)


@pytest.mark.parametrize("key", sorted(TABLE_PROPERTIES))
def test_every_listed_property_bounds_its_values(key: str) -> None:
    assert key == key.lower()
    assert describe_property_fault(key, "9" * 1025)
    if key != "comment":
        assert describe_property_fault(key, "no such value")


def test_a_refusal_names_the_values_that_are_allowed() -> None:
    assert describe_property_fault("commit.retry.num-retries", "x") == (
        "the property `commit.retry.num-retries` must be a whole number from 0 to 100, not `x`"
    )
    assert describe_property_fault("write.delete.mode", "x") == (
        "the property `write.delete.mode` must be one of `copy-on-write`, `merge-on-read`, not `x`"
    )


@pytest.mark.parametrize("namespace", (LISTS / "reserved-namespaces.txt").read_text().split("\n"))
def test_no_own_key_begins_with_a_word_of_an_engine(namespace: str) -> None:
    if namespace and not namespace.startswith("#"):
        assert describe_property_fault(f"{namespace}.x", "y")
        assert describe_property_fault(f"{namespace.upper()}.x", "y")
        assert describe_property_fault(f"my-{namespace}.x", "y") is None or namespace in RESERVED_WORDS


def test_the_property_lists_exist_in_one_folder_only() -> None:
    found = [
        each
        for name in (
            "table-properties",
            "reserved-properties",
            "reserved-namespaces",
            "reserved-words",
            "reserved-summary-words",
        )
        for each in LISTS.parents[1].rglob(f"{name}.txt")
    ]

    assert [each.parent for each in found] == [LISTS] * 5
