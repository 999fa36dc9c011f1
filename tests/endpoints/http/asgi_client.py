"""A small application behind the middleware under test, and a client that calls it without a network."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx
from fastapi import APIRouter, FastAPI, Request
from starlette.types import ASGIApp

from headgate.endpoints.common.request_scope import CALLER
from headgate.endpoints.http.metrics import Metrics
from headgate.endpoints.http.middleware_stack import wrap
from headgate.endpoints.http.probes import Readiness


def behind() -> FastAPI:
    """Return an application that answers with the parts of the request that reached it."""
    app = FastAPI()
    below = APIRouter()

    @below.get("/named/{name}")
    async def named(name: str, request: Request) -> str:
        request.scope[CALLER] = (SimpleNamespace(id="o-1"), SimpleNamespace(principal="p-1"))
        return name

    app.include_router(below, prefix="/below")

    @app.api_route("/things/{name}", methods=["GET", "POST"])
    async def thing(name: str, request: Request) -> dict[str, Any]:
        return {"name": name, "body": (await request.body()).decode(), "request": request.scope["headgate.request"]}

    @app.get("/broken")
    async def broken() -> None:
        raise LookupError("a secret of the inside")

    @app.get("/slow")
    async def slow() -> None:
        await asyncio.sleep(30)

    return app


async def by_token(scope: Any) -> str | None:
    """Return the value of the `Authorization` header as the principal."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    return found[0].decode() if found else None


def guarded(app: ASGIApp | None = None, **options: Any) -> ASGIApp:
    """Return the application with the middleware, ready unless an option says otherwise."""
    options = {"identify": by_token, "readiness": Readiness(lambda: None), "metrics": Metrics(), **options}
    return wrap(app or behind(), **options)


def ask(
    app: ASGIApp, method: str, path: str, *, client: tuple[str, int] = ("127.0.0.1", 5), **more: Any
) -> httpx.Response:
    """Send one request to the application."""
    return asks(app, client=client)(method, path, **more)


def asks(
    app: ASGIApp, *, client: tuple[str, int] = ("127.0.0.1", 5), base: str = "http://127.0.0.1"
) -> Callable[..., Any]:
    """Return a function that sends requests to the application from this client address."""

    def one(method: str, path: str, **more: Any) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(app, client=client, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=base) as opened:
                return await opened.request(method, path, **more)

        return asyncio.run(asked())

    return one
