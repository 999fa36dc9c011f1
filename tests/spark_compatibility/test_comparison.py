"""The verdict on a statement by its outcomes on both sides; above all, a difference is never taken for the same."""

from dataclasses import replace

import pytest

from tools.compatibility.comparison import Compared, Verdict, cause_of, compare, judge
from tools.compatibility.jobs import Job
from tools.compatibility.outcomes import Outcome, Result
from tools.compatibility.results import HEADGATE, PLAIN

ROWS = Outcome("rows", schema="a int", count=1, digest="d1", rows=("(1,)",))
OTHER_ROWS = replace(ROWS, digest="d2", rows=("(2,)",))
TEXT = Outcome("text", text="1\n")
ERROR = Outcome("error", type="AnalysisException", condition="DIVIDE_BY_ZERO", state="22012", message="no")
OTHER_ERROR = replace(ERROR, condition="CAST_INVALID_INPUT")
REFUSED = Outcome(
    "error", condition="", state="42501", message="the function `f` is refused: no\n To ask for access: x"
)
TIMEOUT, SKIPPED = Outcome("timeout"), Outcome("skipped")
JOB = Job("a.sql", ())


def results(*steps: tuple[str, Outcome], document: str = "") -> list[Result]:
    return [Result(statement, "statement", outcome, document) for statement, outcome in steps]


def verdicts(found: list[Compared]) -> list[Verdict]:
    return [each.verdict for each in found]


@pytest.mark.parametrize(
    ("headgate", "plain", "verdict"),
    [
        (ROWS, ROWS, Verdict.SAME_ROWS),
        (TEXT, TEXT, Verdict.SAME_ROWS),
        (ERROR, replace(ERROR, message="other words"), Verdict.SAME_ERROR),
        (TIMEOUT, TIMEOUT, Verdict.SAME_ERROR),
        (REFUSED, ROWS, Verdict.REFUSED),
        (REFUSED, TIMEOUT, Verdict.REFUSED),
        (REFUSED, ERROR, Verdict.BOTH_FAIL),
        (ROWS, OTHER_ROWS, Verdict.DIFFERENT_ROWS),
        (ROWS, replace(ROWS, schema="a bigint"), Verdict.DIFFERENT_SCHEMA),
        (ROWS, replace(ROWS, count=2), Verdict.DIFFERENT_ROWS),
        (ROWS, TEXT, Verdict.DIFFERENT_SCHEMA),
        (TEXT, replace(TEXT, text="2\n"), Verdict.DIFFERENT_ROWS),
        (ERROR, OTHER_ERROR, Verdict.DIFFERENT_ERROR),
        (ERROR, ROWS, Verdict.HEADGATE_FAILS),
        (ROWS, ERROR, Verdict.PLAIN_FAILS),
        (TIMEOUT, ROWS, Verdict.TIMEOUT),
        (ROWS, TIMEOUT, Verdict.TIMEOUT),
        (SKIPPED, ROWS, Verdict.SKIPPED),
    ],
)
def test_a_pair_of_outcomes_has_one_verdict(headgate: Outcome, plain: Outcome, verdict: Verdict) -> None:
    assert judge(headgate, plain)[0] is verdict


def test_an_outcome_that_a_second_run_does_not_repeat_is_unstable() -> None:
    first = results(("SELECT rand()", ROWS)), results(("SELECT rand()", OTHER_ROWS))

    again = {HEADGATE: results(("SELECT rand()", replace(ROWS, digest="d3", rows=("(3,)",)))), PLAIN: first[1]}

    assert verdicts(compare(JOB, *first, {HEADGATE: first[0], PLAIN: first[1]})) == [Verdict.DIFFERENT_ROWS]
    assert verdicts(compare(JOB, *first, again)) == [Verdict.UNSTABLE]


@pytest.mark.parametrize(
    ("second", "verdict"), [(ROWS, Verdict.SAME_ROWS), (OTHER_ROWS, Verdict.DIFFERENT_ROWS), (TIMEOUT, Verdict.TIMEOUT)]
)
def test_a_statement_that_took_too_long_is_judged_by_its_second_run(second: Outcome, verdict: Verdict) -> None:
    first = results(("SELECT 1", TIMEOUT)), results(("SELECT 1", ROWS))

    assert verdicts(compare(JOB, *first, {HEADGATE: results(("SELECT 1", second)), PLAIN: first[1]})) == [verdict]


def test_a_refusal_is_never_unstable() -> None:
    first = results(("SELECT f()", REFUSED)), results(("SELECT f()", ROWS))

    assert verdicts(compare(JOB, *first, {HEADGATE: first[1], PLAIN: first[0]})) == [Verdict.REFUSED]


def test_a_failure_is_in_the_wake_of_the_refusal_of_its_object() -> None:
    headgate = results(("CREATE VIEW v AS SELECT f()", REFUSED), ("SELECT * FROM V", ERROR), ("SELECT * FROM w", ERROR))
    plain = results(("CREATE VIEW v AS SELECT f()", ROWS), ("SELECT * FROM V", ROWS), ("SELECT * FROM w", ROWS))

    found = compare(JOB, headgate, plain, {})

    assert verdicts(found) == [Verdict.REFUSED, Verdict.IN_THE_WAKE, Verdict.HEADGATE_FAILS]
    assert [each.refused_statement for each in found] == ["CREATE VIEW v AS SELECT f()"] * 2 + [""]


def test_a_list_that_lacks_a_refused_object_is_in_its_wake() -> None:
    headgate = results(("CREATE TABLE t9 AS SELECT f()", REFUSED), ("SHOW TABLES", ROWS))
    plain = results(
        ("CREATE TABLE t9 AS SELECT f()", ROWS),
        ("SHOW TABLES", replace(ROWS, digest="x", count=2, rows=("(1,)", "(t9,)"))),
    )

    assert verdicts(compare(JOB, headgate, plain, {})) == [Verdict.REFUSED, Verdict.IN_THE_WAKE]


def test_a_difference_names_the_earlier_difference_that_it_depends_on() -> None:
    rename = "ALTER TABLE lake.a RENAME TO lake.b"
    headgate = results((rename, ROWS), ("TABLE b", ROWS), ("TABLE c", ROWS))
    plain = results((rename, ERROR), ("TABLE b", ERROR), ("TABLE c", ERROR))

    found = compare(JOB, headgate, plain, {})

    assert verdicts(found) == [Verdict.PLAIN_FAILS] * 3
    assert [each.after for each in found] == ["", rename, ""]


def test_equal_rows_after_a_refusal_stay_the_same() -> None:
    headgate = results(("DROP VIEW v", REFUSED), ("SELECT 1 AS v", ROWS))
    plain = results(("DROP VIEW v", ROWS), ("SELECT 1 AS v", ROWS))

    assert verdicts(compare(JOB, headgate, plain, {})) == [Verdict.REFUSED, Verdict.SAME_ROWS]


@pytest.mark.parametrize(
    ("refused", "example", "verdict"),
    [
        ('df.writeTo("lake.a.t").append()', 'spark.table("t").count()', Verdict.IN_THE_WAKE),
        ('spark.conf.set("a.b", "1")', 'spark.conf.get("a.b")', Verdict.IN_THE_WAKE),
        ('spark.conf.set("a.b", "1")', "spark.range(3).count()", Verdict.DIFFERENT_ROWS),
    ],
)
def test_other_rows_are_in_the_wake_only_of_a_refusal_that_the_example_names(
    refused: str, example: str, verdict: Verdict
) -> None:
    headgate = results((refused, REFUSED), (example, TEXT), document="a")
    plain = results((refused, TEXT), (example, replace(TEXT, text="2\n")), document="a")

    assert verdicts(compare(JOB, headgate, plain, {})) == [Verdict.REFUSED, verdict]


def test_examples_of_another_document_are_not_in_the_wake_of_a_refusal() -> None:
    headgate = [
        *results(("f = udf()", REFUSED), ("f(1)", ERROR), document="a"),
        *results(("g(1)", ERROR), document="b"),
    ]
    plain = [*results(("f = udf()", TEXT), ("f(1)", TEXT), document="a"), *results(("g(1)", TEXT), document="b")]

    assert verdicts(compare(JOB, headgate, plain, {})) == [
        Verdict.REFUSED,
        Verdict.IN_THE_WAKE,
        Verdict.HEADGATE_FAILS,
    ]


def test_rows_with_another_hash_are_the_same_if_a_new_mask_covers_their_difference() -> None:
    one = replace(ROWS, rows=("(id#1)",))
    other = replace(one, digest="d2", rows=("(id#2)",))

    assert judge(one, other)[0] is Verdict.SAME_ROWS
    # Forty rows are kept, so more rows may differ where it cannot be seen.
    assert judge(replace(one, count=41), replace(other, count=41))[0] is Verdict.DIFFERENT_ROWS


def test_texts_that_both_fit_the_documentation_are_the_same() -> None:
    one, other = (Outcome("text", text=each, as_documented=True) for each in ("a ...", "a b"))

    assert judge(one, other)[0] is Verdict.SAME_ROWS
    assert judge(one, replace(other, as_documented=False))[0] is Verdict.DIFFERENT_ROWS


def test_errors_without_a_condition_are_compared_by_the_class_of_java() -> None:
    def error(message: str) -> Outcome:
        return Outcome("error", type="SparkConnectGrpcException", message=message)

    npe = "(java.lang.NullPointerException) 1"
    assert judge(error(npe), error(npe.replace("1", "2")))[0] is Verdict.SAME_ERROR
    assert judge(error(npe), error("(java.io.IOException) 1"))[0] is Verdict.DIFFERENT_ERROR


def test_the_cause_of_a_refusal_is_its_sentence_on_one_line() -> None:
    assert (
        cause_of("the function `f`\n is refused. To ask for access: headgate request") == "the function `f` is refused."
    )
