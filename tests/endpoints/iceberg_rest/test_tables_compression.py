"""The compression of the files of new tables."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from tests.lake.catalog_harness import ZSTD, CatalogHarness, served

ROWS = pa.table({"flight": [1, 2]})
SCHEMA = Schema(NestedField(1, "flight", LongType()))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CatalogHarness]:
    with served(tmp_path) as made:
        made.iceberg().create_namespace("raw")
        yield made


def test_a_new_table_compresses_its_files_with_zstd_unless_its_creator_says_otherwise(world: CatalogHarness) -> None:
    catalog = world.iceberg()
    plain = catalog.create_table("raw.flights", SCHEMA)
    plain.append(ROWS)
    chosen = catalog.create_table("raw.other", SCHEMA, properties={"write.parquet.compression-codec": "snappy"})

    files = [pq.ParquetFile(each) for each in world.data_files()]

    assert plain.properties == ZSTD
    assert {each.metadata.row_group(0).column(0).compression for each in files} == {"ZSTD"}
    assert chosen.properties == {"write.parquet.compression-codec": "snappy"}
