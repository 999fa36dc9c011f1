"""A table whose metadata names the files of another table is refused, whatever roles the user holds."""

import pytest

from tools.bypass_corpus.cases import FORBIDDEN, Case
from tools.bypass_corpus.stack import Stack
from tools.bypass_corpus.verdicts import Verdict, askers, judge

AIMED = (
    "ALTER TABLE lake.trusted.delays SET LOCATION '{files}'",
    "ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('write.data.path' = '{files}/data')",
    "ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('write.metadata.path' = '{files}/metadata')",
    "ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('write.object-storage.path' = 'file:{files}/data')",
    "CREATE TABLE lake.trusted.mine (emp STRING, amount DOUBLE) LOCATION '{files}'",
    "CREATE TABLE lake.trusted.mine (emp STRING) TBLPROPERTIES ('write.data.path' = 'file://{files}/data')",
    "CREATE TABLE lake.trusted.mine TBLPROPERTIES ('write.data.path' = '{files}') AS TABLE lake.secret.salaries",
    "CREATE OR REPLACE TABLE lake.trusted.delays LOCATION '{files}' AS TABLE lake.secret.salaries",
    "CALL lake.system.register_table('trusted.mine', '{metadata}')",
    "CALL lake.system.register_table(table => 'trusted.mine', metadata_file => 'file://{metadata}')",
    "CALL lake.system.add_files('trusted.delays', '`parquet`.`{files}/data`')",
    "CALL lake.system.add_files(table => 'trusted.delays', source_table => '`parquet`.`file:{files}/data`')",
    "CALL lake.system.snapshot('secret.salaries', 'trusted.mine', '{files}')",
    "CALL lake.system.rewrite_table_path('trusted.delays', 'file:{own}', 'file:{files}')",
    "CALL lake.system.remove_orphan_files(table => 'trusted.delays', location => '{files}')",
    "SELECT * FROM parquet.`{files}/data`",
    "SELECT * FROM lake.`{files}`",
    "SELECT * FROM lake.`{files}#files`",
    "CREATE TEMPORARY VIEW w USING parquet OPTIONS (path '{files}/data')",
    "CREATE TEMPORARY VIEW w USING iceberg OPTIONS (path '{files}')",
    "SELECT * FROM lake.raw.flights WITH (`path` = '{files}')",
    "REFRESH '{files}'",
)


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_files_of_a_table_are_accessible_by_its_name_only(stack: Stack) -> None:
    folders = {name: folder for folder, name in stack.folders.items()}
    files = folders["lake.secret.salaries"]
    metadata = max((files / "metadata").glob("*.metadata.json"))
    wrong = {}
    for number, aimed in enumerate(AIMED):
        statement = aimed.format(files=files, metadata=metadata, own=folders["lake.trusted.delays"])
        case = Case(str(number), "sql", statement, ((FORBIDDEN, "another table's files"),))
        judged = judge(case, [stack.attempt(case, asker) for asker in askers(case)])
        if judged.verdict is not Verdict.EXACT:
            wrong[aimed] = judged.decisive

    assert wrong == {}
