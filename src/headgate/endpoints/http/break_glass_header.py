"""Break-glass (emergency access): while it is active in an organization, every response about it has a header."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.control.deployment.break_glass import Broken, active_until, break_glass_events
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.request_scope import CALLER
from headgate.facts.ids import ResourceId

HEADER = b"headgate-break-glass"


class BreakGlassStatus:
    """Until when break-glass is active, cached per organization."""

    def __init__(self) -> None:
        self._known: dict[ResourceId, tuple[object, Broken]] = {}

    def ends(self, organization: Organization) -> float | None:
        """Return when break-glass in the organization ends, in seconds since the epoch; None if it is not active."""
        # An organization can have many assignments: they are searched again only after one was added or removed.
        facts = organization.control.snapshot
        there = facts.assignments_on.get(facts.organization) if facts.organization else None
        known = self._known.get(organization.id)
        if known is None or known[0] is not there:
            known = self._known[organization.id] = (there, break_glass_events(facts))
        return active_until(facts, known[1], organization.control.now) if known[1] else None


class BreakGlassHeader:
    """Adds a header with the end of an active break-glass, in seconds since the epoch."""

    def __init__(self, app: ASGIApp, glass: BreakGlassStatus) -> None:
        self._app = app
        self._glass = glass

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def announcing(message: Message) -> None:
            found = scope.get(CALLER)
            if found is not None and message["type"] == "http.response.start":
                ends = self._glass.ends(found[0])
                if ends is not None:
                    message = {**message, "headers": [*message.get("headers", ()), (HEADER, f"{ends:.0f}".encode())]}
            await send(message)

        await self._app(scope, receive, announcing)
