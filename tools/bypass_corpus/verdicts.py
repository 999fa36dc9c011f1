"""From what came of a case to its verdict. Everything that is not clearly stopped was let through."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from tools.bypass_corpus.cases import Case, Need


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
    COVERED = "not tried: the other needs give this one too"


class Holds(enum.Enum):
    """What somebody holds who tries a case."""

    NOTHING = "nothing"
    NEEDS = "exactly the needs"
    REST = "all but one of the needs"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class Asker:
    """As whom a case is tried."""

    holds: Holds
    needs: tuple[Need, ...] = ()
    """What is granted; of no meaning where everything is."""
    lacks: Need | None = None
    """The need that was taken away."""

    def __str__(self) -> str:
        """Say in words what is held."""
        return f"all but {' '.join(self.lacks)}" if self.lacks else self.holds.value


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of one case, tried once as somebody."""

    asker: Asker
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
_TOLERATED = 0.05
"""The share of the cases that may be refused too much."""


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


def askers(case: Case) -> tuple[Asker, ...]:
    """Return as whom a case is to be tried: those who must be stopped before whoever must not be."""
    if case.is_spoofing or not case.needs:
        return (Asker(Holds.NOTHING),)
    if case.is_forbidden:
        return (Asker(Holds.EVERYTHING),)
    rests = ((need, tuple(each for each in case.needs if each != need)) for need in dict.fromkeys(case.needs))
    return (*(Asker(Holds.REST, rest, need) for need, rest in rests), Asker(Holds.NEEDS, case.needs))


def judge(case: Case, attempts: Sequence[Attempt]) -> Judged:
    """Return the worst verdict of the attempts. A case that was not tried as it must be was let through."""
    if tuple(attempt.asker for attempt in attempts) != askers(case):
        return Judged(case, Verdict.LET_THROUGH, tuple(attempts), None)
    verdicts = [_one(case, attempt) for attempt in attempts]
    worst = min(verdicts, key=_ORDER.index)
    decisive = None if worst is Verdict.EXACT else attempts[verdicts.index(worst)]
    return Judged(case, worst, tuple(attempts), decisive)


def falls_short(judged: Sequence[Judged]) -> bool:
    """Say whether anything was let through, or more was refused than can be tolerated."""
    verdicts = [each.verdict for each in judged]
    return Verdict.LET_THROUGH in verdicts or verdicts.count(Verdict.OVER_REFUSED) > _TOLERATED * len(verdicts)


def _one(case: Case, attempt: Attempt) -> Verdict:
    if case.is_spoofing:
        return Verdict.LET_THROUGH if _is_another(attempt) else Verdict.EXACT
    if case.is_forbidden or attempt.asker.lacks:
        return Verdict.EXACT if _is_stopped(attempt) else Verdict.LET_THROUGH
    refused = attempt.ending in (Ending.REFUSED, Ending.TIMED_OUT)
    return Verdict.OVER_REFUSED if refused else Verdict.EXACT


def _is_stopped(attempt: Attempt) -> bool:
    stopped = attempt.ending in (Ending.REFUSED, Ending.REJECTED, Ending.COVERED)
    return stopped and not attempt.effects


def _is_another(attempt: Attempt) -> bool:
    """Whether rights were used that are not the token's own, or it cannot be told."""
    return bool(attempt.as_another or attempt.effects) or attempt.ending is Ending.TIMED_OUT
