"""Cross-origin resource sharing (CORS): which pages of other origins may call the API. None may send a cookie."""

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_EXPOSED = ("etag", "location", "retry-after", "x-request-id")
_PREFLIGHT_SECONDS = 600


def allow_origins(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """Return the application with CORS: pages of these origins (`https://app.example.com`) may call it with a token."""
    return CORSMiddleware(
        app,
        origins,
        _METHODS,
        ("*",),
        allow_credentials=False,
        expose_headers=_EXPOSED,
        max_age=_PREFLIGHT_SECONDS,
    )
