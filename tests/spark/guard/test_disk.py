"""Statements and cached rows leave part of the driver's disk free."""

import shutil
import time
from collections.abc import Callable, Iterator

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.storagelevel import StorageLevel

from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.attempts import SOON, STRANGER, Attempt, open_as
from tests.spark.guard.driver_harness import ADMIN, DriverHarness, world

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

ROOM = 1000
"""MiB that may remain; other processes write as well."""
LARGE = "SELECT id, repeat(randstr(40000), 25) AS x FROM range(0, {}, 1, {})"
"""Rows of a million incompressible bytes."""


FEW = 200_000_000


@pytest.fixture(scope="module")
def lake(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriverHarness]:
    folder = tmp_path_factory.mktemp("disk")
    free = shutil.disk_usage(folder).free >> 20
    if free < 2 * ROOM:
        pytest.skip(f"the disk has {free} MiB free, and the test writes {ROOM} MiB")
    with world(toolchain, folder, free_disk_mib=free - ROOM) as opened:
        opened.decisions.rule = lambda *_: True
        yield opened


@pytest.fixture
def logged(lake: DriverHarness) -> Callable[[], str]:
    """Return a function that returns the driver's log lines since the test began."""
    before = len(lake.log())
    return lambda: lake.log()[before:]


def written(lake: DriverHarness) -> int:
    """Return the size of the driver's files in bytes."""
    files = [path for path in lake.warehouse.parent.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files if path.exists())


def wait_for_room(lake: DriverHarness) -> None:
    """Wait until the files of the statement are deleted."""
    until = time.monotonic() + 2 * SOON
    while written(lake) > FEW:
        assert time.monotonic() < until, "the files of the statement are still there"
        time.sleep(0.5)


def test_a_statement_that_fills_the_disk_is_ended(lake: DriverHarness) -> None:
    spark, other, generation = open_as(lake, ADMIN), open_as(lake, STRANGER), lake.driver.generation

    with pytest.raises(PySparkException, match="the disk of this Spark is almost full") as caught:
        spark.sql(f"SELECT count(*), max(x) FROM ({LARGE.format(20_000, 200)} DISTRIBUTE BY id % 8)").collect()
    wait_for_room(lake)

    assert caught.value.getSqlState() == "57014"
    assert other.sql("SELECT id % 8, count(*) FROM range(1000) GROUP BY 1").count() == 8
    assert lake.driver.generation == generation


def test_cached_rows_that_fill_the_disk_are_dropped(lake: DriverHarness) -> None:
    spark, generation = open_as(lake, ADMIN), lake.driver.generation
    small = spark.sql(LARGE.format(20, 4)).persist(StorageLevel.DISK_ONLY)
    large = spark.sql(LARGE.format(1200, 50)).persist(StorageLevel.DISK_ONLY)

    assert (small.count(), large.count()) == (20, 1200)
    wait_for_room(lake)

    assert small.count() == 20
    assert large.limit(30).count() == 30
    assert lake.driver.generation == generation


def test_the_shuffle_files_of_a_statement_are_deleted_with_it(lake: DriverHarness) -> None:
    spark = open_as(lake, ADMIN)

    for _ in range(3):
        spark.sql(f"SELECT count(*), max(x) FROM ({LARGE.format(150, 8)} DISTRIBUTE BY id % 8)").collect()

    wait_for_room(lake)


SLOW = """SELECT max(n) FROM (SELECT k, count(*) AS n FROM (
    SELECT id % 97 AS k, count(*) AS c FROM (SELECT id % 300000 AS id FROM range(0, 30000000, 1, 8)) GROUP BY id) GROUP BY k)"""
"""A query with two shuffles, each of which takes some time."""


def test_cached_rows_that_do_not_fit_in_memory_are_computed_again(
    lake: DriverHarness, logged: Callable[[], str]
) -> None:
    """Spark reads the shuffles of the statement that cached the rows again, although that statement has ended."""
    spark = open_as(lake, STRANGER)
    kept = spark.sql(f"SELECT * FROM ({LARGE.format(500, 8)} DISTRIBUTE BY id % 8)").persist(StorageLevel.MEMORY_ONLY)
    try:
        kept.head(1)
        time.sleep(SOON)

        assert kept.count() == 500
        assert "FetchFailed" not in logged()
    finally:
        kept.unpersist()


@pytest.mark.soak
def test_a_driver_goes_on_after_files_of_a_shuffle_were_lost(lake: DriverHarness, logged: Callable[[], str]) -> None:
    spark = open_as(lake, STRANGER)
    there = set(lake.warehouse.parent.rglob("shuffle_*.index"))
    attempt = Attempt(lambda: spark.sql(SLOW).collect())

    until = time.monotonic() + 2 * SOON
    while not (lost := set(lake.warehouse.parent.rglob("shuffle_*.index")) - there):
        assert time.monotonic() < until, "the statement has written no shuffle"
    for file in lost:
        file.unlink(missing_ok=True)

    assert attempt.wait(6 * SOON)
    assert attempt.message == ""
    time.sleep(SOON)
    assert "FetchFailed" in logged()
    assert "Cannot find endpoint" not in logged()
