"""The classes of refusals and differences: their files are complete, and malformed entries are refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from tools.compatibility.classes import ClassError, Classes, load_classes
from tools.compatibility.comparison import Compared, Verdict
from tools.compatibility.outcomes import Outcome

REFUSAL = Compared(
    "a.sql", "SELECT f()", "statement", "", Verdict.REFUSED, "", "SELECT f()", "", Outcome("error"), Outcome("rows")
)


@pytest.fixture(scope="module")
def classes() -> Classes:
    return load_classes()


def name_of(classes: Classes, cause: str, statement: str = "SELECT 1") -> str:
    found = classes.exclusion_of(replace(REFUSAL, cause=cause, refused_statement=statement))
    return found.name if found else ""


@pytest.mark.parametrize(
    ("cause", "statement", "name"),
    [
        ("Headgate runs no code of users on Spark; use built-in functions", "f(1)", "user code"),
        ("reading a data source (`Read.DataSource`) is not allowed: only a run", "spark.read.csv('x')", "file paths"),
        ("the name `<path>` is not allowed: it is empty", "SELECT * FROM parquet.`/a/b`", "file paths"),
        ("the Spark operation `ScriptTransformation` is refused", "SELECT 1", "script TRANSFORM"),
        ("the function `java_method` is refused: Headgate allows only", "SELECT 1", "reflection"),
        ("global temporary views are refused, because all sessions share them", "SELECT 1", "global temporary views"),
        ("the Spark operation `AddJarsCommand` is refused", "ADD JAR x", "jars, files and archives"),
        ("the catalog `other` is refused, because Headgate does not govern it", "SELECT 1", "ungoverned catalogs"),
        ("permanent functions cannot be created or dropped", "DROP FUNCTION f", "permanent functions"),
        ("the configuration key `spark.jars` cannot be changed by users", "SET spark.jars=x", "settings"),
        (
            "the function `f` is refused: Headgate allows only reviewed functions",
            "f()",
            "functions that are not reviewed",
        ),
        ("the option `checkpointLocation` is not allowed", "writeStream", "streams: sinks, sources and checkpoints"),
        ("a table cannot have a storage location of its own: the lake", "CREATE TABLE t", "file paths"),
        ("the Spark operation `ScalaUDF` is refused", "df.stat.sampleBy", ""),
        ("the Spark operation `TryEval` is refused: Headgate allows only reviewed operations", "SELECT 1", ""),
    ],
)
def test_a_refusal_has_the_class_of_its_reason(classes: Classes, cause: str, statement: str, name: str) -> None:
    assert name_of(classes, cause, statement) == name


def test_user_code_and_file_paths_alone_are_counted_apart(classes: Classes) -> None:
    assert [each.name for each in classes.exclusions if each.is_apart] == ["user code", "file paths"]


@pytest.mark.parametrize("cause", ["", "a refusal of an unknown kind"])
def test_an_unknown_refusal_has_no_class(classes: Classes, cause: str) -> None:
    assert name_of(classes, cause) == ""


def difference(verdict: Verdict, statement: str, plain: Outcome, headgate: Outcome = Outcome("rows")) -> Compared:  # noqa: B008 (it is frozen)
    return replace(REFUSAL, verdict=verdict, statement=statement, headgate=headgate, plain=plain)


def test_a_known_difference_needs_all_of_its_patterns(classes: Classes) -> None:
    failure = Outcome("error", message="java.lang.UnsupportedOperationException")
    known = difference(Verdict.PLAIN_FAILS, "CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x", failure)

    def name(compared: Compared) -> str:
        found = classes.difference_of(compared)
        return found.name if found else ""

    assert name(known) == "temporary functions with parameters"
    assert name(replace(known, verdict=Verdict.HEADGATE_FAILS)) == ""
    assert name(replace(known, statement="SELECT 1")) == ""
    assert name(replace(known, plain=Outcome("error", message="another"))) == ""
    use = replace(known, statement="SELECT f(1)", plain=Outcome("error", condition="UNRESOLVED_ROUTINE"))
    assert name(replace(use, after=known.statement)) == "uses of temporary functions with parameters"
    assert name(use) == ""


@pytest.mark.parametrize("verdict", [Verdict.DIFFERENT_ROWS, Verdict.DIFFERENT_SCHEMA, Verdict.HEADGATE_FAILS])
def test_wrong_rows_of_a_plain_query_have_no_verdict(classes: Classes, verdict: Verdict) -> None:
    rows = Outcome("rows", schema="a int", rows=("(1,)",))
    wrong = difference(verdict, "SELECT a FROM t WHERE a > 1", rows, replace(rows, rows=("(2,)",)))

    assert classes.difference_of(wrong) is None


def test_jobs_with_differences_that_were_not_read_are_run_a_second_time(classes: Classes) -> None:
    failure = Outcome("error", message="java.lang.UnsupportedOperationException")
    known = difference(Verdict.PLAIN_FAILS, "CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x", failure)
    late = replace(REFUSAL, job="d.sql", verdict=Verdict.TIMEOUT, headgate=Outcome("timeout"))
    unread = replace(known, job="b.sql", verdict=Verdict.HEADGATE_FAILS)

    assert classes.unsure_jobs([REFUSAL, replace(known, job="c.sql"), unread, late]) == {"b.sql", "d.sql"}


def write(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[[class]]\nname = "a"\nwhy = "w"\ninstead = "i"', "has no pattern"),
        ('[[class]]\nname = "a"\nwhy = "w"\ncause = ["x"]', "has no `instead`"),
        ('[[class]]\nname = "a"\nwhy = "w"\ninstead = "i"\ncause = ["x"]\ncauses = ["y"]', "unknown key `causes`"),
        ('[[class]]\nname = "a"\n[[class]]\nname = "a"', "twice"),
    ],
)
def test_a_malformed_class_of_refusals_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(ClassError, match=fault):
        load_classes(exclusions=write(tmp_path / "exclusions.toml", text))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('name = "a"\nwhy = "w"\nassessment = "fine"\nverdicts = ["different rows"]\nplain = "x"', "has no assessment"),
        (
            'name = "a"\nwhy = "w"\nassessment = "better"\nverdicts = ["different rows"]\njob = "x"',
            "would cover a whole job",
        ),
        ('name = "a"\nwhy = "w"\nassessment = "better"\nplain = "x"', "has no `verdicts`"),
    ],
)
def test_a_malformed_class_of_differences_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(ClassError, match=fault):
        load_classes(differences=write(tmp_path / "differences.toml", f"[[class]]\n{text}"))
