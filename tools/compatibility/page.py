"""The page docs/spark-compatibility.md, generated from the classes and from the summary of the last recorded run."""

import re
from collections.abc import Iterator
from typing import Final

from tools.compatibility.classes import Classes
from tools.compatibility.comparison import DIFFERENT, REFUSALS, SAME, UNCOUNTED, Verdict
from tools.compatibility.run import ROOT
from tools.compatibility.sql_inputs import LEFT_OUT
from tools.compatibility.summary import MOST_REFUSED, Summary

PAGE: Final = ROOT / "docs" / "spark-compatibility.md"
_OUTSIDE_CODE: Final = re.compile("(`[^`]*`)|<")
_HEAD: Final = """\
# Ordinary Spark behind Headgate

This page states how much of ordinary Spark works behind Headgate for a user with all privileges, what is refused, and what to write
instead. `python -m tools.compatibility --record` generates it; a test checks that it follows from `tools/compatibility`.

The comparison runs each statement twice with the stock PySpark client: behind Headgate as the owner, and on Spark Connect without Headgate,
which has the same jars and an Iceberg catalog of its own. The statements are the inputs of Apache Spark's SQL tests, the queries of TPC-DS,
TPC-H and SSB, the examples of PySpark's documentation, and our own cases. A user with fewer privileges gets other refusals:
[refused.md](refused.md) explains them.
"""
_VERDICTS: Final = """\
A statement is *the same* if both sides return equal rows and schemas, or equal errors, or if one side differs from itself in a second
run. It is *refused* if it has the SQLSTATE `42501` behind Headgate and works on plain Spark. It is *in the wake of a refusal* if it fails
because a refused statement did not create what it needs. All other statements are *different*, and each has a verdict below, or is counted
as unread. Statements that fail on both sides, one of them with a refusal, are not counted; nor are statements that are not run, such as examples that their document skips.
"""
_RUN: Final = """\
## Run it

    make soak PART="compatibility-1 compatibility-2 ..."    the parts, then `compatibility-sum`; `make soak PART=--list` lists them
    .venv/bin/python -m tools.compatibility                   the same in one run, about two hours on 2 cores
    .venv/bin/python -m tools.compatibility --only 'subquery/*' --work FOLDER
    .venv/bin/python -m tools.compatibility --compare-only --refused    compare the results that exist; print every refusal

A run that is started again continues: what has a result is not run again. The results of plain Spark do not depend on Headgate's code, so a
later run of the other side takes half of the time; `--plain-results FOLDER` uses those of another folder. After a change of Headgate,
`--reuse FOLDER` takes its older results of the jobs in which every statement was the same. Maven or Ivy fetches the published
test jars of Spark into the cache folder. The exit status is 1 if more than {most} statements are refused or in the wake of a refusal, or if
a difference has no verdict.
"""


def page(classes: Classes, summary: Summary) -> str:
    """Return the page."""
    parts = (
        _HEAD,
        _measured(summary),
        _table("## Counts by suite", _suites(summary), _VERDICTS),
        _table("## What is refused, and what to write instead", _refused(classes, summary)),
        _table("## The most frequent refusals", _causes(summary), _limit(summary)),
        _table("## Known differences", _differences(classes, summary), _unread(summary)),
        _table("## Our own cases by subject", _subjects(summary)),
        _table("## What is not run", (("folder of Spark's SQL tests", "reason"), *LEFT_OUT.items())),
        _RUN.format(most=MOST_REFUSED),
    )
    return "\n".join(parts)


def _measured(summary: Summary) -> str:
    found = summary.measured
    partial = (
        ""
        if summary.jobs == summary.all_jobs
        else f"**This was a partial run: {summary.jobs} of {summary.all_jobs} jobs.** It says nothing yet about the others.\n\n"
    )
    older = found.get("reused", "0")
    reused = (
        ""
        if older == "0"
        else f"\n{older} jobs, in which every statement was the same, ran with older source code of Headgate only.\n"
    )
    return (
        f"{partial}The last recorded run measured Headgate {found['headgate']} (`{found['commit']}`) with PySpark {found['spark']}, Iceberg "
        f"{found['iceberg']} and the suites of Spark {found['suites']}, on {found['day']}:\n\n    {summary.last_line}\n{reused}"
    )


def _table(title: str, rows: tuple[tuple[object, ...], ...] | Iterator[tuple[object, ...]], text: str = "") -> str:
    head, *others = rows
    lines = [_row(head), "|" + "---|" * len(head), *map(_row, others)]
    return "\n".join((title, "", *([text] if text else []), *lines, ""))


def _row(cells: tuple[object, ...]) -> str:
    texts = (str(each).replace("|", "\\|") for each in cells)
    return f"| {' | '.join(texts)} |"


def _suites(summary: Summary) -> Iterator[tuple[object, ...]]:
    yield ("suite", "statements", "same", "refused", "in the wake", "different", "not counted")
    groups = (SAME, {Verdict.REFUSED}, {Verdict.IN_THE_WAKE}, DIFFERENT, UNCOUNTED)
    totals = [0] * (1 + len(groups))
    for name, counts in summary.suites.items():
        numbers = [sum(counts.values()), *(sum(counts.get(each.value, 0) for each in group) for group in groups)]
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
        yield (name, *numbers)
    yield ("all", *totals)


def _refused(classes: Classes, summary: Summary) -> Iterator[tuple[object, ...]]:
    yield ("class", "refused", "in the wake", "why", "instead")
    for each in classes.exclusions:
        name = f"{each.name} (counted apart)" if each.is_apart else each.name
        yield (name, summary.refused.get(each.name, 0), summary.wake.get(each.name, 0), each.why, each.instead)
    yield ("without a class", summary.without_class, "", "see the next table", "")


def _limit(summary: Summary) -> str:
    return (
        f"{summary.count(REFUSALS)} statements are refused or in the wake of a refusal. {summary.apart} of them are user code and file paths; "
        f"the limit of {MOST_REFUSED} applies to the other {summary.limited}.\n"
    )


def _causes(summary: Summary) -> Iterator[tuple[object, ...]]:
    yield ("statements", "reason", "class")
    for each in summary.causes:
        yield (each.count, _OUTSIDE_CODE.sub(lambda found: found[1] or "&lt;", each.sentence), each.name or "none")


def _differences(classes: Classes, summary: Summary) -> Iterator[tuple[object, ...]]:
    yield ("difference", "statements", "assessment", "why")
    for each in classes.differences:
        yield (each.name, summary.differences.get(each.name, 0), each.assessment, each.why)


def _unread(summary: Summary) -> str:
    return (
        "*Better* means that Headgate serves more than plain Spark; *harness* means that the comparison causes the difference. "
        f"{summary.unread} differences have not been read.\n"
    )


def _subjects(summary: Summary) -> Iterator[tuple[object, ...]]:
    yield ("subject", "examples", "same", "refused", "different or not counted")
    for name, (examples, same, refused) in summary.subjects.items():
        yield (name, examples, same, refused, examples - same - refused)
