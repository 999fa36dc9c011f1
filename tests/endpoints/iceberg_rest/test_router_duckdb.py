"""DuckDB's iceberg extension with the REST catalog, if the extension can be installed."""

import os
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from tests.conftest import IN_CI
from tests.lake.catalog_harness import ADMIN, LAKE, CatalogHarness, served

FOLDER = os.environ.get("DUCKDB_EXTENSIONS", "")
"""The folder from which extensions are installed instead of DuckDB's own network; `none` skips these tests."""
if FOLDER == "none":
    pytest.skip("DuckDB's iceberg extension was left out (DUCKDB_EXTENSIONS=none)", allow_module_level=True)

import duckdb  # noqa: E402 (an import before the skip prints long errors at exit)

SCHEMA = Schema(NestedField(1, "n", LongType()))


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the extension; without it, skip with the reason, or fail in CI."""
    connection = duckdb.connect()
    try:
        for extension in ("httpfs", "avro", "iceberg"):
            place = f" FROM '{FOLDER}'" if FOLDER else ""
            connection.execute(f"INSTALL {extension}{place}")
            connection.execute(f"LOAD {extension}")
    except duckdb.Error as error:
        why = f"DuckDB's iceberg extension cannot be installed here: {str(error).splitlines()[0]}"
        (pytest.fail if IN_CI else pytest.skip)(why)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    with served(tmp_path_factory.mktemp("world")) as made:
        for database in ("raw", "secret"):
            made.iceberg().create_namespace(database)
            made.iceberg().create_table((database, "t"), SCHEMA).append(pa.table({"n": [1, 2]}))
        made.rights.allow("ina", (*LAKE, "raw"), "*")
        made.rights.allow("ina", (*LAKE, "raw", "t"), "*")
        yield made


def _attached(duck: duckdb.DuckDBPyConnection, world: CatalogHarness, who: str) -> str:
    duck.execute(f"CREATE OR REPLACE SECRET {who} (TYPE iceberg, TOKEN '{who}')")
    duck.execute(f"ATTACH 'lake' AS lake_{who} (TYPE iceberg, SECRET {who}, ENDPOINT '{world.url}')")
    return f"lake_{who}"


def test_duckdb_reads_and_writes_only_tables_that_its_caller_may_use(
    duck: duckdb.DuckDBPyConnection, world: CatalogHarness
) -> None:
    admin, ina = (_attached(duck, world, who) for who in (ADMIN, "ina"))

    assert duck.execute(f"SELECT sum(n) FROM {admin}.secret.t").fetchall() == [(3,)]
    assert duck.execute(f"SELECT sum(n) FROM {ina}.raw.t").fetchall() == [(3,)]
    duck.execute(f"INSERT INTO {ina}.raw.t VALUES (4)")
    assert world.iceberg().load_table("raw.t").scan().to_arrow().num_rows == 3
    with pytest.raises(duckdb.Error):
        duck.execute(f"SELECT * FROM {ina}.secret.t")
