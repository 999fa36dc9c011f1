"""The fixture tables: where a job runs, and values that are the same on every server."""

import pytest

from tools.compatibility.fixture_tables import databases_of, home_of, value_of


@pytest.mark.parametrize(
    ("job", "database"),
    [("tpch/q1.sql", "tpch"), ("tpcds-v2.7.0/q1.sql", "tpcds"), ("tpcds-modifiedQueries/q1.sql", "tpcds"), ("ssb/1.1.sql", "ssb"),
     ("subquery/a.sql", "default"), ("pyspark.sql.conf", "default"), ("cases/writes", "default")],
)  # fmt: skip
def test_a_job_runs_in_the_database_of_its_tables(job: str, database: str) -> None:
    assert home_of(job) == database


def test_the_input_for_pipes_needs_the_tables_of_tpcds() -> None:
    assert databases_of(["pipe-operators.sql"]) == {"default", "tpcds"}


@pytest.mark.parametrize(
    ("column", "kind", "begin"),
    [("d_year", "INT", "CAST(1998 + pmod(id, 5)"), ("d_date_sk", "INT", "CAST(id AS INT)"), ("d_date", "DATE", "date_add("),
     ("d_x", "DECIMAL(7,2)", "CAST(pmod("), ("d_day_name", "CHAR(9)", "CAST(concat('d'")],
)  # fmt: skip
def test_a_column_has_values_of_its_type_without_chance(column: str, kind: str, begin: str) -> None:
    value = value_of(column, kind, "date_dim")

    assert value.startswith(begin)
    assert "rand" not in value
