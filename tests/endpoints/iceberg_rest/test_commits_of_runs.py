"""The catalog records a run's commit together with the commit itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.control.pipelines.commits import committed_figures
from headgate.facts.ids import RunId
from tests.lake.catalog_harness import LAKE, CatalogHarness, served

RUN, OTHER = RunId("r1"), RunId("r2")
BY_RUN = "spark:admin@r1"
FLIGHTS = (*LAKE, "raw", "flights")
ROWS = pa.table({"carrier": ["UA", "AA"]})


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CatalogHarness]:
    with served(tmp_path) as made:
        made.iceberg().create_namespace("raw")
        yield made


def noted(world: CatalogHarness, name: str, run: RunId = RUN) -> dict[str, Any] | None:
    there = committed_figures(world.rights.store, run, world.rights.find((*LAKE, "raw", name)))
    return None if there is None else dict(there)


class TestACommitOfARun:
    def test_an_append_by_a_run_is_recorded_for_that_run_and_table_alone(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.other", ROWS.schema)
        world.iceberg().create_table("raw.flights", ROWS.schema)
        world.rights.start_run(RUN, FLIGHTS)

        world.iceberg(BY_RUN).load_table("raw.flights").append(ROWS)

        written = noted(world, "flights")
        assert written is not None
        assert (written["snapshots"], written["rows"]) == (1, 2)
        assert written["bytes"] > 0
        assert written["columns"] == [["carrier", "string"]]
        assert noted(world, "other") is None
        assert noted(world, "flights", OTHER) is None

    def test_a_second_append_by_a_run_adds_to_its_recorded_figures(self, world: CatalogHarness) -> None:
        world.rights.start_run(RUN, FLIGHTS)
        table = world.iceberg(BY_RUN).create_table("raw.flights", ROWS.schema)
        table.append(ROWS)
        table.append(ROWS)

        written = noted(world, "flights")
        assert written is not None
        assert (written["snapshots"], written["rows"]) == (2, 4)

    def test_a_run_that_creates_its_table_with_rows_is_recorded_with_the_table(self, world: CatalogHarness) -> None:
        world.rights.start_run(RUN, FLIGHTS)

        with world.iceberg(BY_RUN).create_table_transaction("raw.flights", ROWS.schema) as making:
            making.append(ROWS)

        written = noted(world, "flights")
        assert written is not None
        assert (written["snapshots"], written["rows"]) == (1, 2)

    def test_a_commit_that_adds_no_rows_is_not_recorded(self, world: CatalogHarness) -> None:
        world.rights.start_run(RUN, FLIGHTS)
        table = world.iceberg(BY_RUN).create_table("raw.flights", ROWS.schema)
        with table.update_schema() as schema:
            schema.make_column_optional("carrier")
        with table.transaction() as transaction:
            transaction.set_properties(owner="me")

        assert noted(world, "flights") is None

    def test_a_commit_that_loses_a_race_and_is_retried_is_recorded_once(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.flights", ROWS.schema)
        world.rights.start_run(RUN, FLIGHTS)
        stale = world.iceberg(BY_RUN).load_table("raw.flights")
        world.iceberg().load_table("raw.flights").append(ROWS)

        stale.append(ROWS)

        written = noted(world, "flights")
        assert written is not None
        assert (written["snapshots"], written["rows"]) == (1, 2)


def test_a_commit_outside_any_run_is_not_recorded(world: CatalogHarness) -> None:
    world.iceberg("spark:admin").create_table("raw.flights", ROWS.schema).append(ROWS)

    assert world.rights.store.documents("run_commit") == {}


def test_a_recreated_table_does_not_inherit_the_recorded_figures_of_its_name(world: CatalogHarness) -> None:
    world.rights.start_run(RUN, FLIGHTS)
    world.iceberg(BY_RUN).create_table("raw.flights", ROWS.schema).append(ROWS)
    former = world.rights.find(FLIGHTS)
    world.iceberg().drop_table("raw.flights")
    world.iceberg().create_table("raw.flights", ROWS.schema)

    assert noted(world, "flights") is None
    assert committed_figures(world.rights.store, RUN, former) is not None
