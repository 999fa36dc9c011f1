"""The verdict on a case. An attempt that was not clearly stopped counts as let through."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override

from tools.bypass_corpus.cases import Case, Need


class Ending(enum.Enum):
    """The ending of an attempt."""

    SERVED = "served"
    FAILED = "failed"
    """With an error of Spark's own, or because there was no Spark."""
    REJECTED = "rejected"
    """By the client, or by Spark's parser: nothing was asked for."""
    REFUSED = "refused"
    """By Headgate."""
    TIMED_OUT = "timed out"
    COVERED = "not attempted: the other privileges imply the missing one"


class Holds(enum.Enum):
    """The privileges of the user that attempts a case."""

    NOTHING = "nothing"
    NEEDS = "exactly the needs"
    REST = "all but one of the needs"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class Asker:
    """The user that attempts a case, by its privileges."""

    holds: Holds
    needs: tuple[Need, ...] = ()
    """The granted privileges; not used if all are granted."""
    lacks: Need | None = None
    """The needed privilege that is missing."""

    @override
    def __str__(self) -> str:
        """Return the privileges in words."""
        return f"all but {' '.join(self.lacks)}" if self.lacks else self.holds.value


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one attempt at a case."""

    asker: Asker
    ending: Ending
    message: str = ""
    effects: tuple[str, ...] = ()
    """The changes that the attempt caused."""
    as_another: str = ""
    """How the session of another user was used or harmed."""


class Verdict(enum.Enum):
    """The verdict on a case, from worst to best."""

    LET_THROUGH = "let through"
    OVER_REFUSED = "over-refused"
    EXACT = "exact"


_ORDER = list(Verdict)
_TOLERATED = 0.05
"""The share of cases that may be over-refused."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with its verdict, and the attempt that determined it (None if the case is exact)."""

    case: Case
    verdict: Verdict
    attempts: tuple[Attempt, ...]
    decisive: Attempt | None

    @property
    def is_rejected(self) -> bool:
        """Whether the client or the parser stopped an attempt."""
        return any(attempt.ending is Ending.REJECTED for attempt in self.attempts)


def askers(case: Case) -> tuple[Asker, ...]:
    """Return the users that must attempt a case: those that must be refused, then the one that must be served."""
    if case.is_spoofing or not case.needs:
        return (Asker(Holds.NOTHING),)
    if case.is_forbidden:
        return (Asker(Holds.EVERYTHING),)
    rests = ((need, tuple(each for each in case.needs if each != need)) for need in dict.fromkeys(case.needs))
    return (*(Asker(Holds.REST, rest, need) for need, rest in rests), Asker(Holds.NEEDS, case.needs))


def judge(case: Case, attempts: Sequence[Attempt]) -> Judged:
    """Return the worst verdict of the attempts. A case without all its attempts counts as let through."""
    if tuple(attempt.asker for attempt in attempts) != askers(case):
        return Judged(case, Verdict.LET_THROUGH, tuple(attempts), None)
    verdicts = [_one(case, attempt) for attempt in attempts]
    worst = min(verdicts, key=_ORDER.index)
    decisive = None if worst is Verdict.EXACT else attempts[verdicts.index(worst)]
    return Judged(case, worst, tuple(attempts), decisive)


def falls_short(judged: Sequence[Judged]) -> bool:
    """Whether a case was let through, or more cases were over-refused than is tolerated."""
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
    """Whether the attempt used privileges of another user, or may have."""
    return bool(attempt.as_another or attempt.effects) or attempt.ending is Ending.TIMED_OUT
