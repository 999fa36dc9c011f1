"""The report of a run on the terminal: counts by suite, refusals by class, and every difference that has not been read."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tools.compatibility.classes import Classes
from tools.compatibility.comparison import DIFFERENT, REFUSALS, Compared, Verdict
from tools.compatibility.outcomes import Outcome
from tools.compatibility.summary import Summary, sentence_of
from tools.compatibility.times import describe_times

_LONGEST = 160


def report(summary: Summary, compared: Sequence[Compared], classes: Classes, left_out: Mapping[str, int]) -> list[str]:
    """Return the lines of the report; the last one has the counts of the run."""
    return [
        *_suites(summary),
        *_refusals(summary, classes),
        *_causes(summary, compared),
        *_differences(summary, classes),
        *_unread(compared, classes),
        "",
        *describe_times(compared),
        "",
        *(f"left out: {count} statements in `{folder}/`" for folder, count in left_out.items()),
        f"{summary.jobs} of {summary.all_jobs} jobs have results",
        summary.last_line,
    ]


def refused_lines(compared: Sequence[Compared], classes: Classes) -> list[str]:
    """Return a line for each refused statement: its class, its job, the statement and the reason."""
    return [
        f"{found.name if (found := classes.exclusion_of(each)) else 'without a class'}\t{each.verdict.value}\t{each.job}\t"
        f"{_line(each.statement)}\t{each.cause}"
        for each in compared
        if each.verdict in REFUSALS
    ]


def _suites(summary: Summary) -> Iterator[str]:
    yield "by suite:"
    for name, counts in summary.suites.items():
        yield f"  {name}: " + ", ".join(
            f"{counts[each.value]} {each.value}" for each in Verdict if each.value in counts
        )


def _refusals(summary: Summary, classes: Classes) -> Iterator[str]:
    yield ""
    yield "refusals by class, with those in their wake:"
    for each in classes.exclusions:
        counts = (summary.refused.get(each.name, 0), summary.wake.get(each.name, 0))
        if any(counts):
            apart = ", counted apart" if each.is_apart else ""
            yield f"  {counts[0]:5} + {counts[1]:<4} {each.name}{apart}: {each.why}"
    yield f"  {summary.without_class:5}        without a class"


def _causes(summary: Summary, compared: Sequence[Compared]) -> Iterator[str]:
    examples = {sentence_of(each.cause): each for each in reversed(compared) if each.verdict is Verdict.REFUSED}
    yield ""
    yield "the most frequent refusals that are not counted apart, each with its first statement:"
    for cause in summary.causes:
        yield f"  {cause.count:5} {cause.name or 'without a class'}: {cause.sentence}"
        if example := examples.get(cause.sentence):
            yield f"        {example.job}: {_line(example.statement)}"


def _differences(summary: Summary, classes: Classes) -> Iterator[str]:
    yield ""
    yield "differences with a verdict:"
    for each in classes.differences:
        if count := summary.differences.get(each.name, 0):
            yield f"  {count:5} {each.name} ({each.assessment}): {each.why}"


def _unread(compared: Sequence[Compared], classes: Classes) -> Iterator[str]:
    unread = [each for each in compared if each.verdict in DIFFERENT and classes.difference_of(each) is None]
    yield ""
    yield "differences without a verdict; read each one, and add a class to differences.toml if it is not a fault:"
    for verdict, count in Counter(each.verdict for each in unread).most_common():
        yield f"  {count:5} {verdict.value}"
    for each in unread:
        yield f"  {each.verdict.value}: {each.job} {each.document}: {_line(each.statement)}"
        yield f"      Headgate: {_shown(each.headgate)}"
        yield f"      plain Spark: {_shown(each.plain)}"


def _shown(outcome: Outcome) -> str:
    said = outcome.message.partition("\n")[0] or outcome.text or f"{outcome.schema} {list(outcome.rows)}"
    return _line(f"{outcome.kind} {outcome.condition} {said}")


def _line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]
