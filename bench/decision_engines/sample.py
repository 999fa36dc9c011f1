"""The questions to all engines, with the correct answers."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from .oracle import Oracle, Question
from .organization import LEVELS, Organization

CHECKS = 1_000
LISTS = 100
_LISTS_WORKED_OUT = 5
_DRAWS = 500
"""The most random questions until one has the wanted answer: a user may have no grant."""


@dataclass(frozen=True, slots=True)
class Case:
    """The arguments of a question, and the correct answer; None if it was not computed."""

    about: Any
    right: bool | frozenset[str] | None = None


Sample = Mapping[str, Sequence[Case]]
"""The cases of each measurement, which is named like the method of `Engine`; `newcomer` asks `table`."""


def sample(organization: Organization, checks: int = CHECKS, lists: int = LISTS, revokes: int = CHECKS) -> Sample:
    """Return the cases. Half of the checks are allowed; no other check is about a user of `newcomer`."""
    chance = random.Random(1)  # noqa: S311 - the same questions each time
    oracle = Oracle(organization)
    known, strangers = organization.users[::2], organization.users[1::2]
    tables, pipelines = tuple(organization.layer_of), tuple(organization.pipelines)

    def check(users: Sequence[str], resources: Sequence[str], *, wanted: bool) -> Case:
        drawn = (Question(*map(chance.choice, (users, LEVELS[:2], resources))) for _ in range(_DRAWS))
        question = next((each for each in drawn if oracle.allows(each) is wanted), None)
        return Case(question, wanted) if question else check(users, resources, wanted=not wanted)

    def readable(user: str) -> frozenset[str]:
        return frozenset(table for table in tables if oracle.allows(Question(user, LEVELS[0], table)))

    def readers(table: str) -> frozenset[str]:
        return frozenset(user for user in organization.users if oracle.allows(Question(user, LEVELS[0], table)))

    asked = range(checks)
    newcomers = chance.sample(strangers, min(checks, len(strangers)))
    return {
        "table": [check(known, tables, wanted=number % 2 == 0) for number in asked],
        "newcomer": [check([user], tables, wanted=number % 2 == 0) for number, user in enumerate(newcomers)],
        "pipeline": [check(known, pipelines, wanted=number % 2 == 0) for number in asked],
        "readable": _lists(_some(chance, known, lists), readable),
        "readers": _lists(_some(chance, tables, lists), readers),
        "revoke": list(islice(_revocable(organization, frozenset(known)), revokes)),
    }


def _some(chance: random.Random, names: Sequence[str], count: int) -> list[str]:
    return chance.sample(names, min(count, len(names)))


def _lists(names: Sequence[str], right: Callable[[str], frozenset[str]]) -> list[Case]:
    worked_out = [Case(name, right(name)) for name in names[:_LISTS_WORKED_OUT]]
    return worked_out + [Case(name) for name in names[_LISTS_WORKED_OUT:]]


def _revocable(organization: Organization, users: frozenset[str]) -> Iterator[Case]:
    """Yield grants of a table without which its user cannot read it."""
    others = Oracle(replace(organization, grants=[each for each in organization.grants if each.subject not in users]))
    for each in organization.grants:
        if each.subject in users and not others.allows(Question(each.subject, LEVELS[0], each.place)):
            yield Case(each, right=False)
