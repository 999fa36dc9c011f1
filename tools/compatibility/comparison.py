"""The verdict on each statement: the results of the two sides, compared."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tools.compatibility.jobs import Job
from tools.compatibility.masks import mask
from tools.compatibility.outcomes import LONGEST_ROW, SHOWN, Outcome, Result
from tools.compatibility.results import HEADGATE, PLAIN
from tools.compatibility.setting_commands import key_of_setting


class Verdict(Enum):
    """The verdict on a statement that both sides ran."""

    SAME_ROWS = "same rows"
    SAME_ERROR = "same error"
    UNSTABLE = "differs by itself"
    """A second run of a side differs from its first one."""
    REFUSED = "refused"
    IN_THE_WAKE = "in the wake of a refusal"
    """Another failure of a statement that needs an object that a refused one would have made."""
    BOTH_FAIL = "refused, and plain Spark fails too"
    DIFFERENT_ROWS = "different rows"
    DIFFERENT_SCHEMA = "different schema"
    DIFFERENT_ERROR = "different error"
    HEADGATE_FAILS = "Headgate fails"
    PLAIN_FAILS = "plain Spark fails"
    TIMEOUT = "time limit"
    SKIPPED = "not run"


SAME: Final = frozenset((Verdict.SAME_ROWS, Verdict.SAME_ERROR, Verdict.UNSTABLE))
REFUSALS: Final = frozenset((Verdict.REFUSED, Verdict.IN_THE_WAKE))
UNCOUNTED: Final = frozenset((Verdict.BOTH_FAIL, Verdict.SKIPPED))
DIFFERENT: Final = frozenset(Verdict) - SAME - REFUSALS - UNCOUNTED
_NAMED: Final = re.compile(
    r"\b(?:TABLE|VIEW|FUNCTION|DATABASE|SCHEMA|NAMESPACE|VARIABLE|DECLARE|INTO|UPDATE|FROM|CACHE|TO|VAR|REPLACE)\s+"
    r"(?:(?:IF\s+(?:NOT\s+)?EXISTS|TABLE|LAZY|VIEW)\s+)*((?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))*)",
    re.IGNORECASE,
)
_NOT_NAMES: Final = frozenset(("identifier", "if", "values", "table", "view", "select", "temporary", "temp", "as"))
_WRITTEN_IN_PYTHON: Final = re.compile(
    r"""(?:writeTo|saveAsTable|insertInto|mergeInto|View|save|toTable)\(\s*["'](?:\w+\.)*(\w+)["']"""
)
_KEY_IN_PYTHON: Final = re.compile(r"""conf\.(?:un)?set\(\s*["']([\w.]+)["']""")
_FAILURES: Final = frozenset((Verdict.HEADGATE_FAILS, Verdict.PLAIN_FAILS, Verdict.DIFFERENT_ERROR))
_THROWN: Final = re.compile(r"\b((?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error))\b")
_LONGEST_CAUSE: Final = 200


@dataclass(frozen=True, slots=True)
class Compared:
    """A statement with the outcomes of both sides; `cause` is the refusal's sentence, or what the errors say."""

    job: str
    statement: str
    part: str
    document: str
    verdict: Verdict
    cause: str
    refused_statement: str
    """The statement that was refused, for a refusal and for statements in its wake."""
    after: str
    """An earlier statement that differs and names an object that this one mentions, for a difference."""
    headgate: Outcome
    plain: Outcome


def compare(
    job: Job, headgate: Sequence[Result], plain: Sequence[Result], repeated: Mapping[str, Sequence[Result]]
) -> list[Compared]:
    """Return the statements of a job with their verdicts; `repeated` has the results of second runs by side."""
    found: list[Compared] = []
    refusals, differences = _Origins(), _Origins()
    document = None
    for at, (one, other) in enumerate(zip(headgate, plain, strict=True)):
        if one.document != document:
            document, refusals, differences = one.document, _Origins(), _Origins()
        ours, theirs = (_settled(each, at, repeated.get(side, ())) for side, each in ((HEADGATE, one), (PLAIN, other)))
        is_stable = all(
            _is_same(outcome, repeated[side][at].outcome)
            for side, outcome in ((HEADGATE, ours), (PLAIN, theirs))
            if at < len(repeated.get(side, ()))
        )
        verdict, cause = judge(ours, theirs, is_stable=is_stable)
        refused, after = one.statement if verdict is Verdict.REFUSED else "", ""
        if verdict in DIFFERENT and verdict is not Verdict.TIMEOUT:
            rows = set(theirs.rows).symmetric_difference(ours.rows)
            text = "\n".join((one.statement, *rows, theirs.text))
            # Examples build on each other by variables. A variable that is missing is an error, never other rows.
            if origin := refusals.origin_of(text, whole_document=verdict in _FAILURES):
                verdict, (cause, refused) = Verdict.IN_THE_WAKE, origin
            elif origin := differences.origin_of(text, whole_document=False):
                after = origin[1]
        if verdict in REFUSALS:
            refusals.add(one.statement, cause, refused, in_document=bool(document))
        elif verdict in DIFFERENT:
            differences.add(one.statement, cause, after or one.statement, in_document=False)
        found.append(
            Compared(
                job.name,
                one.statement,
                one.part,
                one.document,
                verdict,
                cause,
                refused,
                after,
                ours,
                theirs,
            )
        )
    return found


def _settled(first: Result, at: int, repeated: Sequence[Result]) -> Outcome:
    """Return the outcome of a statement, or that of its second run if the first one took too long: the machine may be busy."""
    return repeated[at].outcome if first.outcome.kind == "timeout" and at < len(repeated) else first.outcome


def judge(  # noqa: PLR0911 (one for each verdict)
    headgate: Outcome, plain: Outcome, *, is_stable: bool = True
) -> tuple[Verdict, str]:
    """Return the verdict on one statement, without regard to others, and the cause that it names."""
    kinds = (headgate.kind, plain.kind)
    if "skipped" in kinds:
        return Verdict.SKIPPED, ""
    if headgate.is_refusal:
        return (Verdict.BOTH_FAIL if plain.kind == "error" else Verdict.REFUSED), cause_of(headgate.message)
    if kinds == ("timeout", "timeout"):
        return Verdict.SAME_ERROR, ""
    if "timeout" in kinds:
        return Verdict.TIMEOUT, "Headgate" if headgate.kind == "timeout" else "plain Spark"
    if _is_same(headgate, plain):
        return (Verdict.SAME_ERROR if headgate.kind == "error" else Verdict.SAME_ROWS), ""
    if not is_stable:
        return Verdict.UNSTABLE, ""
    if kinds == ("error", "error"):
        return Verdict.DIFFERENT_ERROR, f"{_error_name(headgate)} | {_error_name(plain)}"
    if headgate.kind == "error":
        return Verdict.HEADGATE_FAILS, _error_name(headgate)
    if plain.kind == "error":
        return Verdict.PLAIN_FAILS, _error_name(plain)
    return (Verdict.DIFFERENT_SCHEMA if headgate.schema != plain.schema else Verdict.DIFFERENT_ROWS), ""


def cause_of(message: str) -> str:
    """Return the sentence of a refusal on one line, without the link for requesting access."""
    return " ".join(message.partition(" To ask for access:")[0].split())[:_LONGEST_CAUSE]


class _Origins:
    """Statements of a job or document that were refused or differ, by the names of the objects that they would have made."""

    def __init__(self) -> None:
        self._by_name: dict[str, tuple[str, str]] = {}
        self._of_document: tuple[str, str] | None = None

    def add(self, statement: str, cause: str, origin: str, *, in_document: bool) -> None:
        """Record a statement with its cause and its origin."""
        for name in _objects_of(statement):
            self._by_name.setdefault(name, (cause, origin))
        if in_document:
            self._of_document = self._of_document or (cause, origin)

    def origin_of(self, text: str, *, whole_document: bool) -> tuple[str, str] | None:
        """Return the cause and the origin of the statement whose object the text mentions, or None.

        With `whole_document`, everything in a document depends on its first refusal.
        """
        named = (origin for name, origin in self._by_name.items() if _mentions(text, name))
        return next(named, self._of_document if whole_document else None)


def _objects_of(statement: str) -> Iterator[str]:
    for found in _NAMED.finditer(statement):
        name = found[1].replace("`", "").split(".")[-1].lower()
        if name not in _NOT_NAMES:
            yield name
    for found in _WRITTEN_IN_PYTHON.finditer(statement):
        yield found[1].lower()
    for found in _KEY_IN_PYTHON.finditer(statement):
        yield found[1].lower()
    if key := key_of_setting(statement):
        yield key.lower()


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _is_same(one: Outcome, other: Outcome) -> bool:
    if one.kind != other.kind:
        return False
    if one.kind == "error":
        return _error_name(one) == _error_name(other)
    if one.kind == "rows" and one.digest != other.digest:
        # All rows are masked again, so that a mask that was added later applies to older results.
        rows = _all_rows(one)
        return rows is not None and rows == _all_rows(other) and mask(one.schema) == mask(other.schema)
    is_equal = (mask(one.schema), one.count, mask(one.text)) == (mask(other.schema), other.count, mask(other.text))
    return is_equal or (one.as_documented and other.as_documented)


def _all_rows(outcome: Outcome) -> list[str] | None:
    """Return all rows, or None if the outcome does not have them all."""
    if outcome.count > SHOWN or any(len(row) >= LONGEST_ROW for row in outcome.rows):
        return None
    return sorted(map(mask, outcome.rows))


def _error_name(outcome: Outcome) -> str:
    """Return the error condition, or else the Java class in the message, or else the begin of the message."""
    if outcome.condition:
        return outcome.condition
    first = outcome.message.partition("\n")[0]
    thrown = _THROWN.findall(first)
    return thrown[-1] if thrown else f"{outcome.type}: {first[:80]}"
