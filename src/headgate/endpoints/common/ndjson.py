"""NDJSON responses: all rows of a list, one JSON object per line, for a client that accepts it instead of pages."""

import json
from collections.abc import Iterable
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse

from headgate.endpoints.common.route_metadata import PROBLEMS, document_actions

LINES = "application/x-ndjson"
"""A client with this media type in `Accept` gets all rows, one JSON object per line."""


def accepts_ndjson_docs(*actions: str) -> dict[str, Any]:
    """Return the OpenAPI metadata of a route that also answers in NDJSON, with the actions that it needs."""
    return {
        **document_actions(*actions),
        "responses": {**PROBLEMS, 200: {"content": {LINES: {"schema": {"type": "string"}}}}},
    }


def wants_ndjson(request: Request) -> bool:
    """Return whether the client accepts NDJSON."""
    return LINES in request.headers.get("accept", "")


def ndjson_response(rows: Iterable[dict[str, Any]]) -> StreamingResponse:
    """Return a response that streams all rows, each as soon as it is available."""
    return StreamingResponse((f"{json.dumps(each)}\n" for each in rows), media_type=LINES)
