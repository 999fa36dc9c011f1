"""Responses that are kept for repeated requests, until a fact changes, begins or ends.

Enforcement points repeat their questions. A response depends on the caller, the request and the snapshot; it depends on the time
only because facts begin and end.
"""

from collections.abc import Hashable
from typing import Final, NamedTuple
from weakref import ref

from headgate.decision.engine.instants import Period
from headgate.decision.evaluator import Answers
from headgate.endpoints.authzen.endpoints import Response
from headgate.facts.ids import ResourceId

MAX_BYTES: Final = 32 * 1024 * 1024
"""The limit of bytes of the requests and responses that are kept."""
_OBJECTS: Final = 2_000
"""The bytes of the objects of one kept response, besides the texts of request and response."""


class _Kept(NamedTuple):
    """A response, and the period in which it is valid."""

    response: Response
    period: Period


class _OnAnswers(NamedTuple):
    """The responses that were computed on these answers, which are not kept alive by them."""

    answers: "ref[Answers]"
    kept: dict[Hashable, _Kept]


class KeptResponses:
    """The kept responses of all organizations, those of each on its newest snapshot only."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self._most = most
        self._bytes = 0
        self._of: dict[ResourceId, _OnAnswers] = {}

    def find(self, organization: ResourceId, answers: Answers, request: Hashable, now: float) -> Response | None:
        """Return the kept response to a request, on these answers at a time; None if there is none."""
        there = self._of.get(organization)
        if there is None or there.answers() is not answers:
            return None
        found = there.kept.get(request)
        return found.response if found is not None and found.period.includes(now) else None

    def keep(
        self,
        organization: ResourceId,
        answers: Answers,
        request: Hashable,
        size: int,
        period: Period,
        response: Response,
    ) -> None:
        """Keep the response to a request of `size` bytes, which was computed on these answers within a period."""
        taken = size + len(response.body) + _OBJECTS
        self._bytes += taken
        if self._bytes > self._most:
            self._of.clear()
            self._bytes = taken
        there = self._of.get(organization)
        if there is None or there.answers() is not answers:
            there = self._of[organization] = _OnAnswers(ref(answers), {})
        there.kept[request] = _Kept(response, period)
