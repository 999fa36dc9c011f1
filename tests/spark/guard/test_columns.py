"""Column lineage: the guard derives from the plan the source columns of each column that a run writes."""

from collections.abc import Iterator

import pytest

from tests.spark.guard.driver_harness import ADMIN, DriverHarness, everything_to_the_admin

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

TRACED = "hgs_traced"


@pytest.fixture
def run(lake: DriverHarness) -> Iterator[DriverHarness]:
    """The driver, with a run that may do everything and whose lineage is recorded."""
    lake.decisions.traced = {TRACED}
    lake.decisions.rule = lambda handle, need: handle == TRACED or everything_to_the_admin(handle, need)
    lake.decisions.columns.clear()
    yield lake
    lake.decisions.traced = set()


def told(lake: DriverHarness, statement: str, by: str = TRACED) -> dict[str, dict[str, set[str]]]:
    """Return the reported lineage of a statement: by table and column, its source columns."""
    lake.decisions.columns.clear()
    lake.session(by).sql(statement).collect()
    return {
        ".".join(each["table"]): {
            name: {".".join((*source["table"], source["column"])) for source in of}
            for name, of in each["columns"].items()
        }
        for each in lake.decisions.columns
    }


CARRIER, YEAR = "lake.raw.flights.carrier", "lake.raw.flights.year"
AMOUNT = "lake.secret.salaries.amount"


def test_the_guard_follows_columns_through_expressions_and_joins(run: DriverHarness) -> None:
    made = told(
        run,
        """
        CREATE TABLE lake.trusted.made AS
        WITH late AS (SELECT carrier, year + 1 AS next FROM lake.raw.flights)
        SELECT upper(f.carrier) AS carrier, max(f.next) + count(s.emp) AS figure, (SELECT max(amount) FROM lake.secret.salaries) AS most, 7 AS seven
        FROM late f LEFT JOIN lake.secret.salaries s ON s.emp = f.carrier GROUP BY 1
        """,
    )["lake.trusted.made"]

    assert made == {
        "carrier": {CARRIER},
        "figure": {YEAR, "lake.secret.salaries.emp"},
        "most": {AMOUNT},
        "seven": set(),
    }


def test_the_guard_reports_source_columns_of_inserts_overwrites_and_merges(run: DriverHarness) -> None:
    admin = run.session(ADMIN)
    admin.sql("CREATE TABLE lake.trusted.kept (carrier STRING, figure DOUBLE)").collect()

    added = told(
        run,
        "INSERT INTO lake.trusted.kept SELECT carrier, year FROM lake.raw.flights UNION ALL SELECT emp, amount FROM lake.secret.salaries",
    )
    replaced = told(run, "INSERT OVERWRITE lake.trusted.kept SELECT 'x', amount FROM lake.secret.salaries")
    merged = told(
        run,
        "MERGE INTO lake.trusted.kept t USING lake.raw.flights s ON t.carrier = s.carrier "
        "WHEN MATCHED THEN UPDATE SET figure = s.year + t.figure WHEN NOT MATCHED THEN INSERT (carrier, figure) VALUES (s.carrier, 0)",
    )

    assert added["lake.trusted.kept"] == {"carrier": {CARRIER, "lake.secret.salaries.emp"}, "figure": {YEAR, AMOUNT}}
    assert replaced["lake.trusted.kept"] == {"carrier": set(), "figure": {AMOUNT}}
    assert merged["lake.trusted.kept"] == {"carrier": {CARRIER}, "figure": {YEAR}}


def test_the_guard_reports_no_columns_of_reads_and_of_writes_outside_a_run(run: DriverHarness) -> None:
    assert told(run, "SELECT * FROM lake.raw.flights") == {}
    assert told(run, "CREATE TABLE lake.trusted.theirs AS SELECT * FROM lake.raw.flights", by=ADMIN) == {}
