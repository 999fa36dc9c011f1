"""While the glass of an organization is broken, every answer about it says so."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.control.logins.break_glass import break_glass
from headgate.control.organization import Organization
from headgate.doors.scope import CALLER
from headgate.facts.ids import ResourceId

HEADER = b"headgate-break-glass"


class Glass:
    """Whose glass is broken."""

    def __init__(self) -> None:
        self._known: dict[ResourceId, tuple[int, float | None]] = {}

    def ends(self, organization: Organization) -> float | None:
        """Return when it is whole again, in seconds since the epoch; None if it is."""
        # Looked for once for each revision: there can be many assignments on an organization.
        facts, now = organization.control.snapshot, organization.control.now
        known = self._known.get(organization.id)
        if known is None or known[0] != facts.revision:
            known = self._known[organization.id] = (facts.revision, break_glass(facts, now))
        return known[1] if known[1] is not None and now < known[1] else None


class BrokenGlass:
    """Adds a header with the end of it, in seconds since the epoch."""

    def __init__(self, app: ASGIApp, glass: Glass) -> None:
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
