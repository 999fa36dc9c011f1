"""The OpenAPI document: it describes the response to a dry run of every creating route, and is served at a fixed path."""

import json
from threading import Lock
from typing import Any, Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

ADDRESS: Final = "/api/openapi.json"
_DRY = "Dry run: nothing was written. The response has the changes and their effects on principals and pipelines."


def openapi_document(app: FastAPI) -> None:
    """Add the response 200 of a dry run to every route of the OpenAPI document that answers 201 or 202, and serve it."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        found = made()
        for item in found["paths"].values():
            responses = item.get("post", {}).get("responses", {})
            usual = next((responses[code] for code in ("201", "202") if code in responses), None)
            if usual and any(each["name"] == "dry_run" for each in item["post"].get("parameters", ())):
                responses.setdefault("200", {**usual, "description": _DRY})
        return found

    setattr(app, "openapi", openapi)  # noqa: B010 (the framework's own way; a type checker takes it for a method)
    app.router.routes.append(Route(ADDRESS, _answer(app), include_in_schema=False))


def _answer(app: FastAPI) -> Any:
    """Return the handler that serves the document.

    Generating the document takes a second. It is done once, in a thread, so that it does not block the event loop.
    """
    lock, made = Lock(), list[bytes]()

    def answer(_: Request) -> Response:
        with lock:
            if not made:
                made.append(json.dumps(app.openapi(), ensure_ascii=False).encode())
        return Response(made[0], media_type="application/json")

    return answer
