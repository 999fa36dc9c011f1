"""From what came of a case to its verdict. Everything that is not clearly stopped was let through."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from tools.bypass_corpus.cases import Case


class Ending(enum.Enum):
    """How an attempt ended."""

    SERVED = "served"
    FAILED = "failed"
    """With an error of Spark's own, or because there was no Spark."""
    REJECTED = "rejected"
    """By the client, or by Spark's parser: nothing was asked for."""
    REFUSED = "refused"
    """By Headgate."""
    TIMED_OUT = "timed out"


class Who(enum.Enum):
    """As whom a case is tried."""

    NOBODY = "nobody"
    """Holds nothing."""
    EVERYTHING = "everything"
    """Holds every action on the lake."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of one case, tried once as somebody."""

    who: Who
    ending: Ending
    message: str = ""
    effects: tuple[str, ...] = ()
    """What is not as it was before."""
    as_another: str = ""
    """How somebody else's session was used or harmed."""


class Verdict(enum.Enum):
    """What a case counts as; the first that fits."""

    LET_THROUGH = "let through"
    OVER_REFUSED = "over-refused"
    EXACT = "exact"


_ORDER = list(Verdict)


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with its verdict, and the attempt that decided it (None if all went as it should)."""

    case: Case
    verdict: Verdict
    attempts: tuple[Attempt, ...]
    decisive: Attempt | None

    @property
    def is_rejected(self) -> bool:
        """Whether the client or the parser took part in stopping it."""
        return any(attempt.ending is Ending.REJECTED for attempt in self.attempts)


def askers(case: Case) -> tuple[Who, ...]:
    """Return as whom a case is to be tried."""
    if case.is_spoofing or not case.needs:
        return (Who.NOBODY,)
    if case.is_forbidden:
        return (Who.EVERYTHING,)
    return (Who.NOBODY, Who.EVERYTHING)


def judge(case: Case, attempts: Sequence[Attempt]) -> Judged:
    """Return the worst verdict of the attempts. A case that was not tried as it must be was let through."""
    if tuple(attempt.who for attempt in attempts) != askers(case):
        return Judged(case, Verdict.LET_THROUGH, tuple(attempts), None)
    verdicts = [_one(case, attempt) for attempt in attempts]
    worst = min(verdicts, key=_ORDER.index)
    decisive = None if worst is Verdict.EXACT else attempts[verdicts.index(worst)]
    return Judged(case, worst, tuple(attempts), decisive)


def _one(case: Case, attempt: Attempt) -> Verdict:
    if case.is_spoofing:
        return Verdict.LET_THROUGH if _is_another(attempt) else Verdict.EXACT
    if case.is_forbidden or (case.needs and attempt.who is Who.NOBODY):
        return Verdict.EXACT if _is_stopped(attempt) else Verdict.LET_THROUGH
    refused = attempt.ending in (Ending.REFUSED, Ending.TIMED_OUT)
    return Verdict.OVER_REFUSED if refused else Verdict.EXACT


def _is_stopped(attempt: Attempt) -> bool:
    return attempt.ending in (Ending.REFUSED, Ending.REJECTED) and not attempt.effects


def _is_another(attempt: Attempt) -> bool:
    """Whether rights were used that are not the token's own, or it cannot be told."""
    return bool(attempt.as_another or attempt.effects) or attempt.ending is Ending.TIMED_OUT
