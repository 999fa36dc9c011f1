"""Which organization an address names: every path is served below `/o/{organization}` too, for every endpoint alike."""

from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.control.organizations.commands import DEPLOYMENT
from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.common.request_scope import ORGANIZATION_KEY

_PREFIX = "/o/"
_NO_ORGANIZATION = "the deployment is no organization; name an organization as `/o/{organization}` before the path"


class OrganizationPathMiddleware:
    """Takes `/o/{organization}` off the path and keeps the name in the scope. Nothing is served below `/o/deployment`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"].startswith(_PREFIX):
            name, _, rest = scope["path"].removeprefix(_PREFIX).partition("/")
            if name == DEPLOYMENT:
                await problem_response(401, "unauthenticated", _NO_ORGANIZATION)(scope, receive, send)
                return
            raw = scope.get("raw_path", b"").decode("latin-1").removeprefix(_PREFIX).partition("/")[2]
            # In place: what stands around this learns from the scope which route served, and whom.
            scope.update({ORGANIZATION_KEY: unquote(name), "path": f"/{rest}", "raw_path": f"/{raw}".encode("latin-1")})
        await self._app(scope, receive, send)
