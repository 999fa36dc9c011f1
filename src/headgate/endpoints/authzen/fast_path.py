"""Fast path of AuthZEN: evaluations for a caller whose token is cached, on the newest facts, without reasons."""

from collections.abc import Mapping

from headgate.control.kernel.ports import StoreError
from headgate.control.organizations.organization import Organization
from headgate.endpoints.authzen.endpoints import ENDPOINTS, JSON, Endpoint, Response, respond
from headgate.endpoints.authzen.kept_responses import KeptResponses
from headgate.endpoints.authzen.routes import is_slow, record_decisions
from headgate.endpoints.common.context import AppState
from headgate.endpoints.http.break_glass_header import BreakGlassStatus
from headgate.endpoints.http.fast_path import FastResponse
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.facts.caller import Caller

TARGETS = {each.path.encode(): each for each in ENDPOINTS if not each.long}
"""The endpoints with a fast path, by target."""
_OK = 200
_JSON = JSON.encode()


class AuthZenFastPath:
    """The handler for `headgate.endpoints.http.fast_path`; `headgate.endpoints.authzen.routes` serves all other requests."""

    def __init__(self, deployed: AppState, freshness: FreshnessBarrier, glass: BreakGlassStatus) -> None:
        self._deployed = deployed
        self._freshness = freshness
        self._glass = glass
        self._kept = KeptResponses()

    def knows(self, secret: str) -> str | None:
        """Return the id of the secret's principal; None if the secret is not cached."""
        presented = self._deployed.identity.cached(secret)
        return presented.principal if presented else None

    def answer(
        self, target: bytes, headers: Mapping[bytes, bytes], body: bytes, secret: str, request: str
    ) -> FastResponse | None:
        """Return the response if it is a success that needed no waiting; else None, and nothing was recorded."""
        endpoint, deployed = TARGETS[target], self._deployed
        try:
            if not self._freshness.is_here():
                return None
            found = deployed.callers.resolve_cached(secret, None)
            if found is None:
                return None
            organization, caller = found
            answer = self._respond(endpoint, headers.get(b"content-type", b""), body, organization, caller)
        except StoreError:
            return None
        if answer is None or answer.status != _OK or self._glass.ends(organization) is not None:
            return None
        record_decisions(deployed, organization, caller, answer.decisions, request, denials=answer.denials)
        return FastResponse(answer.body, endpoint.path, answer.content_type, organization.id)

    def _respond(
        self, endpoint: Endpoint, content_type: bytes, body: bytes, organization: Organization, caller: Caller
    ) -> Response | None:
        """Return the response, None if it would take long."""
        control, request = organization.control, (endpoint.path, body, caller)
        answers, now, is_usual = control.answers, control.now, content_type == _JSON
        kept = self._kept.find(organization.id, answers, request, now) if is_usual else None
        if kept is not None:
            return kept
        if is_slow(endpoint, body):
            return None
        answer = respond(endpoint, content_type.decode("latin-1"), body, organization, caller)
        period = answers.period_at(control.now)
        # Not kept if the facts or the period have changed while it was computed.
        if is_usual and answer.status == _OK and control.answers is answers and period.includes(now):
            self._kept.keep(organization.id, answers, request, len(body), period, answer)
        return answer
