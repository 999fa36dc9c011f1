"""The summary of a run: counts by suite, by class of refusals and by known difference. `summary.json` has that of the last recorded run."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tools.compatibility.classes import Classes
from tools.compatibility.comparison import DIFFERENT, REFUSALS, SAME, Compared, Verdict
from tools.compatibility.jobs import QUERY_FOLDERS

SUMMARY: Final = Path(__file__).parent / "summary.json"
MOST_REFUSED: Final = 200
"""The largest number of statements that may be refused or fail in the wake of a refusal, without those that are counted apart."""
_QUERIES: Final[Mapping[str, str]] = dict(
    zip(QUERY_FOLDERS, ("TPC-H", "TPC-DS v1.4", "TPC-DS v2.7", "TPC-DS, modified queries", "SSB"), strict=True)
)
_MOST_CAUSES: Final = 20
_KEY: Final = re.compile(r"(configuration key) `[^`]*`")
"""The name of a setting, which does not distinguish causes."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Refusals with the same sentence, and the name of their class, which may be empty."""

    name: str
    sentence: str
    count: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a run, and the versions that it measured."""

    measured: dict[str, str]
    jobs: int
    all_jobs: int
    suites: dict[str, dict[str, int]]
    """Suite -> verdict -> number of statements."""
    refused: dict[str, int]
    """Class -> number of refused statements."""
    wake: dict[str, int]
    """Class -> number of statements in the wake of its refusals."""
    apart: int
    """The number of refused statements and those in their wake that are counted apart from the limit."""
    causes: list[Cause]
    """The most frequent causes of refusals that are not counted apart."""
    without_class: int
    differences: dict[str, int]
    unread: int
    subjects: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Subject of our own cases -> its number of examples, of equal ones, and of refused ones with those in their wake."""

    def count(self, verdicts: Iterable[Verdict]) -> int:
        """Return the number of statements with one of the verdicts."""
        names = {each.value for each in verdicts}
        return sum(n for counts in self.suites.values() for name, n in counts.items() if name in names)

    @property
    def limited(self) -> int:
        """The number of statements that are refused, or fail in the wake of a refusal, and are not counted apart."""
        return self.count(REFUSALS) - self.apart

    @property
    def is_acceptable(self) -> bool:
        """Whether the run has few refusals and no difference that has not been read."""
        return self.limited <= MOST_REFUSED and self.unread == 0

    @property
    def last_line(self) -> str:
        """The counts in one line."""
        return (
            f"{self.count(SAME)} same, {self.limited} refused or in the wake of a refusal (at most {MOST_REFUSED}), "
            f"{self.apart} of user code and file paths, {self.count(DIFFERENT) - self.unread} different with a verdict, "
            f"{self.unread} different without one"
        )


def summarize(compared: Sequence[Compared], classes: Classes, measured: Mapping[str, str], all_jobs: int) -> Summary:
    """Return the summary of the statements of a run."""
    suites: dict[str, Counter[str]] = {}
    refused, wake, differences = Counter[str](), Counter[str](), Counter[str]()
    causes = Counter[tuple[str, str]]()
    subjects: dict[str, list[int]] = {}
    apart = without_class = unread = 0
    for each in compared:
        suites.setdefault(suite_of(each), Counter())[each.verdict.value] += 1
        if each.job.startswith("cases/"):
            _count_subject(subjects.setdefault(f"{each.job.removeprefix('cases/')}: {each.document}", [0, 0, 0]), each)
        if each.verdict in REFUSALS:
            found = classes.exclusion_of(each)
            without_class += found is None
            if found:
                (refused if each.verdict is Verdict.REFUSED else wake)[found.name] += 1
            if found and found.is_apart:
                apart += 1
            else:
                causes[found.name if found else "", sentence_of(each.cause)] += 1
        elif each.verdict in DIFFERENT:
            known = classes.difference_of(each)
            unread += known is None
            if known:
                differences[known.name] += 1
    return Summary(
        measured=dict(measured),
        jobs=len({each.job for each in compared}),
        all_jobs=all_jobs,
        suites={name: dict(sorted(counts.items())) for name, counts in sorted(suites.items())},
        refused=dict(sorted(refused.items())),
        wake=dict(sorted(wake.items())),
        apart=apart,
        causes=[Cause(*key, n) for key, n in causes.most_common(_MOST_CAUSES)],
        without_class=without_class,
        differences=dict(sorted(differences.items())),
        unread=unread,
        subjects=dict(sorted(subjects.items())),
    )


def sentence_of(cause: str) -> str:
    """Return the cause of a refusal without the name of a setting."""
    return _KEY.sub(r"\1 `...`", cause)


def suite_of(compared: Compared) -> str:
    """Return the suite of a statement."""
    folder = compared.job.split("/")[0]
    if folder in _QUERIES:
        return _QUERIES[folder]
    if folder == "cases":
        return "our own cases"
    if folder.startswith("pyspark."):
        return f"PySpark's documentation: pyspark.{folder.split('.')[1]}"
    return "Spark's SQL tests: their settings" if compared.part == "setting" else "Spark's SQL tests"


def write_summary(summary: Summary, file: Path = SUMMARY) -> None:
    """Write the summary of a recorded run."""
    file.write_text(f"{json.dumps(asdict(summary), indent=1)}\n", encoding="utf-8")


def read_summary(file: Path = SUMMARY) -> Summary:
    """Return the summary of the last recorded run."""
    fields: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return Summary(**{**fields, "causes": [Cause(**each) for each in fields["causes"]]})


def _count_subject(counts: list[int], compared: Compared) -> None:
    counts[0] += 1
    counts[1] += compared.verdict in SAME
    counts[2] += compared.verdict in REFUSALS
