"""The times of the statements that both sides have run at once, by suite."""

from collections.abc import Iterable, Iterator
from statistics import median

from tools.compatibility.comparison import SAME, Compared
from tools.compatibility.summary import suite_of


def describe_times(compared: Iterable[Compared]) -> Iterator[str]:
    """Yield a line for each suite: the median and the sum of its statements' times behind Headgate, over those on plain Spark.

    Statements with the same result on both sides count. Times of reused results are those of the older run.
    """
    suites: dict[str, list[Compared]] = {}
    for each in compared:
        if each.verdict in SAME:
            suites.setdefault(suite_of(each), []).append(each)
    yield "times behind Headgate over those on plain Spark:"
    for name, same in sorted(suites.items()):
        ours, theirs = [each.headgate.ms for each in same], [each.plain.ms for each in same]
        yield (
            f"  {name}: {len(same)} statements, median {median(ours):.0f} over {median(theirs):.0f} ms{_ratio(median(ours), median(theirs))}, "
            f"sum {sum(ours) / 1000:.1f} over {sum(theirs) / 1000:.1f} s{_ratio(sum(ours), sum(theirs))}"
        )


def _ratio(ours: float, theirs: float) -> str:
    return f" ({ours / theirs:.2f})" if theirs else ""
