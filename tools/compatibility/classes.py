"""The named classes of refusals (`exclusions.toml`) and of known differences (`differences.toml`)."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.compatibility.comparison import DIFFERENT, Compared, Verdict
from tools.compatibility.outcomes import Outcome

EXCLUSIONS: Final = Path(__file__).parent / "exclusions.toml"
DIFFERENCES: Final = Path(__file__).parent / "differences.toml"


class ClassError(Exception):
    """A file of classes is malformed; the message names the entry."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A class of refusals: the patterns of its causes and statements, the reason, and what to write instead."""

    name: str
    why: str
    instead: str
    is_apart: bool
    """Whether it is counted apart from the number that has a limit."""
    causes: tuple[re.Pattern[str], ...] = ()
    statements: tuple[re.Pattern[str], ...] = ()

    def covers(self, cause: str, statement: str) -> bool:
        """Whether a refusal with the cause, of the statement, belongs to the class."""
        return any(each.search(cause) for each in self.causes) or any(
            each.search(statement) for each in self.statements
        )


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A class of differences that has been read. All its patterns have to match; a missing one matches all."""

    name: str
    why: str
    assessment: str
    """`better`, `harmless` or `harness`: Headgate does more, the difference has no effect, or the comparison causes it."""
    verdicts: frozenset[Verdict]
    job: re.Pattern[str]
    statement: re.Pattern[str]
    after: re.Pattern[str]
    """The pattern of an earlier difference, on whose object the statement depends."""
    headgate: re.Pattern[str]
    plain: re.Pattern[str]

    def covers(self, compared: Compared) -> bool:
        """Whether a difference belongs to the class."""
        return (
            compared.verdict in self.verdicts
            and bool(self.job.search(compared.job))
            and bool(self.statement.search(compared.statement))
            and bool(self.after.search(compared.after))
            and bool(self.headgate.search(_text_of(compared.headgate)))
            and bool(self.plain.search(_text_of(compared.plain)))
        )


@dataclass(frozen=True, slots=True)
class Classes:
    """All classes; the first one that covers a statement counts."""

    exclusions: tuple[Exclusion, ...]
    differences: tuple[KnownDifference, ...]

    def exclusion_of(self, compared: Compared) -> Exclusion | None:
        """Return the class of a refusal, or of the refusal in whose wake a statement fails; None if no class covers it."""
        cause, statement = compared.cause, compared.refused_statement
        return next((each for each in self.exclusions if each.covers(cause, statement)), None)

    def difference_of(self, compared: Compared) -> KnownDifference | None:
        """Return the class of a difference, or None if it has not been read."""
        return next((each for each in self.differences if each.covers(compared)), None)

    def unsure_jobs(self, compared: Iterable[Compared]) -> set[str]:
        """Return the names of the jobs with a difference that has not been read: a second run may show that it is chance."""
        return {each.job for each in compared if each.verdict in DIFFERENT and self.difference_of(each) is None}


ASSESSMENTS: Final = ("better", "harmless", "harness")


def load_classes(exclusions: Path = EXCLUSIONS, differences: Path = DIFFERENCES) -> Classes:
    """Return the classes of the two files. Raises `ClassError`."""
    return Classes(
        tuple(_exclusion(each) for each in _entries(exclusions)),
        tuple(_difference(each) for each in _entries(differences)),
    )


def _entries(file: Path) -> Sequence[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["class"]
    names = [each.get("name", "") for each in entries]
    if fault := next((each for each in names if not each or names.count(each) > 1), None):
        raise ClassError(f"`{file.name}` has the class `{fault}` twice; give each class a name of its own")
    return entries


def _exclusion(entry: dict[str, Any]) -> Exclusion:
    known = {"name", "why", "instead", "apart", "cause", "statement"}
    _require(entry, known, needed=("name", "why", "instead"))
    if not entry.get("cause") and not entry.get("statement"):
        raise ClassError(f"the class `{entry['name']}` has no pattern; add `cause` or `statement`")
    patterns = [tuple(_pattern(each) for each in entry.get(key, ())) for key in ("cause", "statement")]
    return Exclusion(entry["name"], entry["why"], entry["instead"], entry.get("apart", False), *patterns)


def _difference(entry: dict[str, Any]) -> KnownDifference:
    known = {"name", "why", "assessment", "verdicts", "job", "statement", "after", "headgate", "plain"}
    _require(entry, known, needed=("name", "why", "assessment", "verdicts"))
    if entry["assessment"] not in ASSESSMENTS:
        raise ClassError(f"the class `{entry['name']}` has no assessment; choose one of {', '.join(ASSESSMENTS)}")
    if not {"statement", "after", "headgate", "plain"} & set(entry):
        raise ClassError(
            f"the class `{entry['name']}` would cover a whole job; add a pattern of its statements or results"
        )
    patterns = [_pattern(entry.get(key, "")) for key in ("job", "statement", "after", "headgate", "plain")]
    verdicts = frozenset(Verdict(each) for each in entry["verdicts"])
    return KnownDifference(entry["name"], entry["why"], entry["assessment"], verdicts, *patterns)


def _require(entry: dict[str, Any], known: set[str], *, needed: Sequence[str]) -> None:
    for key in needed:
        if not entry.get(key):
            raise ClassError(f"the class `{entry.get('name')}` has no `{key}`; add it")
    if unknown := sorted(set(entry) - known):
        raise ClassError(
            f"the class `{entry['name']}` has an unknown key `{unknown[0]}`; use {', '.join(sorted(known))}"
        )


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.DOTALL)


def _text_of(outcome: Outcome) -> str:
    """Return the outcome as a text for patterns."""
    parts = (
        outcome.kind,
        outcome.condition,
        outcome.type,
        outcome.message,
        outcome.schema,
        *outcome.rows,
        outcome.text,
    )
    return "\n".join(filter(None, parts))
