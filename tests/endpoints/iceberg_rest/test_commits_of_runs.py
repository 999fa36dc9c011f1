"""What runs commit is noted with the commit itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.control.pipelines.commits import committed_figures
from headgate.facts.ids import RunId
from tests.lake.catalog_harness import LAKE, World, served

RUN, OTHER = RunId("r1"), RunId("r2")
BY_RUN = "spark:admin@r1"
FLIGHTS = (*LAKE, "raw", "flights")
ROWS = pa.table({"carrier": ["UA", "AA"]})


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with served(tmp_path) as made:
        made.iceberg().create_namespace("raw")
        yield made


def noted(world: World, name: str, run: RunId = RUN) -> dict[str, Any] | None:
    there = committed_figures(world.rights.store, run, world.rights.find((*LAKE, "raw", name)))
    return None if there is None else dict(there)


class TestACommitOfARun:
    def test_that_adds_rows_is_noted_for_that_run_and_table_alone(self, world: World) -> None:
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

    def test_adds_to_what_the_run_had_committed_before(self, world: World) -> None:
        world.rights.start_run(RUN, FLIGHTS)
        table = world.iceberg(BY_RUN).create_table("raw.flights", ROWS.schema)
        table.append(ROWS)
        table.append(ROWS)

        written = noted(world, "flights")
        assert written is not None
        assert (written["snapshots"], written["rows"]) == (2, 4)

    def test_that_makes_its_table_with_rows_is_noted_with_the_table(self, world: World) -> None:
        world.rights.start_run(RUN, FLIGHTS)

        with world.iceberg(BY_RUN).create_table_transaction("raw.flights", ROWS.schema) as making:
            making.append(ROWS)

        written = noted(world, "flights")
        assert written is not None
        assert (written["snapshots"], written["rows"]) == (1, 2)

    def test_that_only_makes_or_changes_a_table_is_not_noted(self, world: World) -> None:
        world.rights.start_run(RUN, FLIGHTS)
        table = world.iceberg(BY_RUN).create_table("raw.flights", ROWS.schema)
        with table.update_schema() as schema:
            schema.make_column_optional("carrier")
        with table.transaction() as transaction:
            transaction.set_properties(owner="me")

        assert noted(world, "flights") is None

    def test_that_loses_a_race_and_tries_again_is_noted_once(self, world: World) -> None:
        world.iceberg().create_table("raw.flights", ROWS.schema)
        world.rights.start_run(RUN, FLIGHTS)
        stale = world.iceberg(BY_RUN).load_table("raw.flights")
        world.iceberg().load_table("raw.flights").append(ROWS)

        stale.append(ROWS)

        written = noted(world, "flights")
        assert written is not None
        assert (written["snapshots"], written["rows"]) == (1, 2)


def test_a_commit_of_nobodys_run_is_not_noted(world: World) -> None:
    world.iceberg("spark:admin").create_table("raw.flights", ROWS.schema).append(ROWS)

    assert world.rights.store.documents("run_commit") == {}


def test_what_is_noted_names_its_table_by_id_so_that_another_of_the_name_is_another(world: World) -> None:
    world.rights.start_run(RUN, FLIGHTS)
    world.iceberg(BY_RUN).create_table("raw.flights", ROWS.schema).append(ROWS)
    former = world.rights.find(FLIGHTS)
    world.iceberg().drop_table("raw.flights")
    world.iceberg().create_table("raw.flights", ROWS.schema)

    assert noted(world, "flights") is None
    assert committed_figures(world.rights.store, RUN, former) is not None
