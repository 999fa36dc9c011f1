"""The organization in a URL: every path of every endpoint is also served below `/o/{organization}`."""

from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.control.organizations.commands import DEPLOYMENT
from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.common.request_scope import ORGANIZATION_KEY

_PREFIX = "/o/"
_NO_ORGANIZATION = "`deployment` is not an organization; name an organization as `/o/{organization}` before the path"


class OrganizationPathMiddleware:
    """Removes `/o/{organization}` from the path and keeps the name in the scope. `/o/deployment` serves nothing."""

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
            # The scope is changed in place: outer middlewares read from it the route and the caller that were served.
            scope.update({ORGANIZATION_KEY: unquote(name), "path": f"/{rest}", "raw_path": f"/{raw}".encode("latin-1")})
        await self._app(scope, receive, send)
