"""The inputs of Spark's SQL tests are split as Spark splits them."""

import zipfile
from pathlib import Path

import pytest

from tools.compatibility.sql_inputs import SqlInputs, read_sql_inputs, rewrite_format, split_statements

INPUTS = "sql-tests/inputs"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1;\nSELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';'", ["SELECT '", "'"]),  # Spark's own suite splits here, too
        ("SELECT '\\;'", ["SELECT '\\;'"]),
        ("-- a comment\nSELECT\n  1;", ["SELECT\n  1"]),
        ("--QUERY-DELIMITER-START\nBEGIN SELECT 1; END;\n--QUERY-DELIMITER-END\nSELECT 2", ["BEGIN SELECT 1; END", "SELECT 2"]),
        ("SELECT 0\n--QUERY-DELIMITER-START\nSELECT 1\n--QUERY-DELIMITER-END", ["SELECT 0", "SELECT 1"]),
        ("SELECT 1;\n\n;", ["SELECT 1"]),
    ],
)  # fmt: skip
def test_a_text_is_split_at_semicolons_and_delimiters(text: str, expected: list[str]) -> None:
    assert split_statements(text.split("\n")) == expected


def test_an_input_has_its_settings_and_the_statements_of_its_imports() -> None:
    inputs = SqlInputs(
        {
            f"{INPUTS}/a.sql": "--IMPORT lib/b.sql\n--SET x.y=1,z=2\n-- a comment\nSELECT 2;",
            f"{INPUTS}/lib/b.sql": "SELECT 1;",
        }
    )

    job = inputs.golden()[0]

    assert (job.name, job.settings, job.statements) == ("a.sql", (("x.y", "1"), ("z", "2")), ("SELECT 1", "SELECT 2"))


def test_inputs_that_need_functions_of_the_suite_are_counted_and_not_run() -> None:
    inputs = SqlInputs({f"{INPUTS}/udf/a.sql": "SELECT 1; SELECT 2", f"{INPUTS}/b.sql": "SELECT 1"})

    assert [each.name for each in inputs.golden()] == ["b.sql"]
    assert inputs.left_out() == {"udf": 2, "udaf": 0, "udtf": 0}


def test_a_folder_of_queries_does_not_include_folders_of_similar_names() -> None:
    inputs = SqlInputs(
        {"tpcds/q1.sql": "--q\nSELECT 1;\n", "tpcds-v2.7.0/q1.sql": "SELECT 2", "tpcds/x/q.sql": "SELECT 3"}
    )

    assert [(each.name, each.statements) for each in inputs.queries("tpcds")] == [("tpcds/q1.sql", ("SELECT 1",))]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE TABLE t (a INT) USING json", "CREATE TABLE t (a INT) USING iceberg"),
        ("create or replace table t using `csv` as select 1", "create or replace table t USING iceberg as select 1"),
        ("CREATE TABLE t (a INT) USING parquet", "CREATE TABLE t (a INT) USING parquet"),
        (
            "CREATE TEMPORARY VIEW v USING json OPTIONS (path 'x')",
            "CREATE TEMPORARY VIEW v USING json OPTIONS (path 'x')",
        ),
        ("SELECT 'USING json'", "SELECT 'USING json'"),
    ],
)
def test_a_table_in_a_format_that_no_iceberg_catalog_has_becomes_an_iceberg_table(
    statement: str, expected: str
) -> None:
    assert rewrite_format(statement) == expected


def test_inputs_and_queries_are_read_from_a_jar_and_no_other_files(tmp_path: Path) -> None:
    jar = tmp_path / "tests.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for name in (
            f"{INPUTS}/a.sql",
            "tpch/q1.sql",
            "sql-tests/results/a.sql",
            "tpcds-plan-stability/q1.sql",
            "A.class",
        ):
            archive.writestr(name, "SELECT 1")

    inputs = read_sql_inputs(jar)

    assert [each.name for each in inputs.golden()] == ["a.sql"]
    assert [each.name for each in inputs.queries("tpch")] == ["tpch/q1.sql"]
