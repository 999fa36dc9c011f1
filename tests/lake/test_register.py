"""Foreign metadata: another process reads it before this one does, or it is refused with a sentence."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from headgate.lake import metadata_files
from tests.avro_files import LIST, avro, number
from tests.lake.catalog_harness import CatalogHarness, served
from tests.lake.file_parsers import PARSERS
from tests.lake.test_java_metadata_rules import Change, changed

SCHEMA = Schema(NestedField(1, "n", LongType()))
DEEP = b'{"a":' * 100_000
TWICE = b'{"format-version": 2, "format-version": 2}'

UNREADABLE: dict[str, tuple[Change, int, str]] = {
    "a time out of range": (lambda m: m["snapshots"][0].update({"timestamp-ms": 2**64}), 400, "out of range"),
    "two columns with one id": (lambda m: m["schemas"][0]["fields"].append({**m["schemas"][0]["fields"][0], "name": "m"}), 400, "two columns of a schema have the same id"),
    "a schema twice": (lambda m: m["schemas"].append(m["schemas"][0]), 400, "two schemas have the same id"),
    "a snapshot with the id that means none": (lambda m: m["snapshots"][0].update({"snapshot-id": -1}), 400, "names a snapshot"),
    "a main branch that is a tag": (lambda m: m["refs"]["main"].update({"type": "tag"}), 403, "cannot be a tag"),
    "a field that is no object": (lambda m: m["schemas"][0]["fields"].append({"id": 2, "name": "s", "required": False, "type": {"type": "struct", "fields": ["decimal(9, 2)"]}}), 400, "the table metadata is not valid: a value has"),
    "an order of a text": (lambda m: m["sort-orders"].append({"order-id": 1, "fields": ["a"]}), 400, "the table metadata is not valid: a value has"),
    "a last column id below a column": (lambda m: m.update({"last-column-id": 0}), 400, "above the table's `last-column-id`"),
    "a former column above the last column id": (lambda m: m["schemas"].append({**m["schemas"][0], "schema-id": 7, "fields": [{"id": 2, "name": "m", "type": "long", "required": False}]}), 400, "above the table's `last-column-id`"),
    "a default": (lambda m: m["schemas"][0]["fields"][0].update({"write-default": "abc"}), 403, "cannot have a default"),
}  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CatalogHarness]:
    with served(tmp_path) as made:
        made.iceberg().create_namespace("raw")
        yield made


@pytest.fixture
def dropped(world: CatalogHarness) -> Path:
    """The metadata file of a dropped table."""
    made = world.iceberg().create_table("raw.t", SCHEMA)
    made.append(pa.table({"n": [1]}))
    path = world.iceberg().load_table("raw.t").metadata_location
    world.iceberg().drop_table("raw.t")
    return Path(path.removeprefix("file://"))


def register(world: CatalogHarness, file: Path) -> tuple[int, str]:
    """Register a table; return the status and the message of the answer."""
    body = {"name": "back", "metadata-location": f"file://{file}"}
    answer = world.call("POST", "/namespaces/raw/register", body)
    return answer.status_code, answer.json().get("error", {}).get("message", "")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (DEEP, "levels deep"),
        (TWICE, "has a duplicate name"),
        (b"nonsense", "not valid JSON"),
        (b"[" + b"0," * (metadata_files.MAX_VALUES + 1) + b"0]", "more than 64 MiB or 1,000,000 values"),
        (b"{}", "the table metadata is not valid"),
    ],
    ids=["deep", "a name twice", "no JSON", "values", "no table"],
)
def test_metadata_above_the_limits_is_refused(world: CatalogHarness, dropped: Path, content: bytes, why: str) -> None:
    dropped.write_bytes(content)

    status, message = register(world, dropped)

    assert status == 400
    assert why in message
    assert not world.iceberg().table_exists("raw.back")


@pytest.mark.parametrize("case", UNREADABLE)
def test_metadata_that_java_does_not_open_is_refused(world: CatalogHarness, dropped: Path, case: str) -> None:
    change, status, words = UNREADABLE[case]
    dropped.write_text(json.dumps(changed(json.loads(dropped.read_text()), change)))

    answer, message = register(world, dropped)

    assert (answer, words in message) == (status, True), message
    assert not world.iceberg().table_exists("raw.back")


def test_a_missing_metadata_file_is_refused(world: CatalogHarness, dropped: Path) -> None:
    dropped.unlink()

    assert register(world, dropped) == (
        400,
        "the metadata file at the `metadata-location` of the table does not exist; correct `metadata-location`",
    )


def test_a_manifest_list_in_the_data_folder_is_refused(world: CatalogHarness, dropped: Path) -> None:
    [manifest_list] = dropped.parent.glob("snap-*.avro")
    moved = dropped.parent.parent / "data" / manifest_list.name
    manifest_list.rename(moved)
    dropped.write_text(dropped.read_text().replace(f"/metadata/{moved.name}", f"/data/{moved.name}"))

    status, message = register(world, dropped)

    assert status == 403
    assert "directly in the folder `metadata`" in message


def test_a_hostile_manifest_list_is_refused(world: CatalogHarness, dropped: Path) -> None:
    [manifest_list] = dropped.parent.glob("snap-*.avro")
    manifest_list.write_bytes(avro(LIST, 1, number(1 << 30) + b"x" * 40))

    status, message = register(world, dropped)

    assert status == 400
    assert message.startswith("a manifest list cannot be read: a length in the Avro file")


def test_metadata_is_read_by_a_parser_first(
    world: CatalogHarness, dropped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: list[bytes] = []
    rewrite = PARSERS.rewrite
    monkeypatch.setattr(
        PARSERS, "rewrite", lambda owner, kind, *rest: kinds.append(kind) or rewrite(owner, kind, *rest)
    )

    assert register(world, dropped)[0] == 200
    assert kinds == [b"json", b"list", b"manifest"]
