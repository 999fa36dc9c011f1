"""CREATE OR REPLACE TABLE ... AS SELECT concurrent with other commits, as Iceberg's Java library sends it."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.lake.catalog_harness import CatalogHarness, served

TABLE = "/namespaces/raw/tables/t"
FORMER, NEW, BESIDE = (pa.table({"id": [each]}) for each in ("former", "new", "beside"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CatalogHarness]:
    with served(tmp_path) as made:
        made.iceberg().create_namespace("raw")
        made.iceberg().create_table("raw.t", FORMER.schema)
        yield made


def begun_append(world: CatalogHarness) -> list[dict[str, object]]:
    """Write the files of an append, and return its updates without sending them."""
    begun = world.iceberg().load_table("raw.t").transaction()
    begun.append(NEW)
    return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in begun._updates]  # pyright: ignore[reportPrivateUsage]


def test_a_table_is_replaced_although_another_client_committed_meanwhile(world: CatalogHarness) -> None:
    updates = [{"action": "remove-snapshot-ref", "ref-name": "main"}, *begun_append(world)]
    world.iceberg().load_table("raw.t").append(BESIDE)
    uuid = world.call("GET", TABLE).json()["metadata"]["table-uuid"]

    answer = world.call(
        "POST", TABLE, {"requirements": [{"type": "assert-table-uuid", "uuid": uuid}], "updates": updates}
    )

    assert answer.status_code == 200, answer.text
    table = world.iceberg().load_table("raw.t")
    assert table.scan().to_arrow().to_pylist() == [{"id": "new"}]
    assert [each.sequence_number for each in table.metadata.snapshots] == [1, 1]
    table.append(FORMER)
    assert world.iceberg().load_table("raw.t").scan().to_arrow().num_rows == 2


def test_a_commit_on_top_of_a_former_snapshot_is_a_conflict(world: CatalogHarness) -> None:
    world.iceberg().load_table("raw.t").append(FORMER)
    updates = begun_append(world)
    world.iceberg().load_table("raw.t").append(BESIDE)

    answer = world.call("POST", TABLE, {"requirements": [], "updates": updates})

    assert answer.status_code == 409
