"""Answers in lines: everything there is, one JSON object on each, for who accepts that instead of pages."""

import json
from collections.abc import Iterable
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse

from headgate.endpoints.common.route_metadata import PROBLEMS, document_actions

LINES = "application/x-ndjson"
"""Whoever accepts this gets everything, one JSON object on each line."""


def accepts_ndjson_docs(*actions: str) -> dict[str, Any]:
    """Say what a route needs that also answers in lines."""
    return {
        **document_actions(*actions),
        "responses": {**PROBLEMS, 200: {"content": {LINES: {"schema": {"type": "string"}}}}},
    }


def wants_ndjson(request: Request) -> bool:
    """Return whether the answer is wanted in lines."""
    return LINES in request.headers.get("accept", "")


def ndjson_response(rows: Iterable[dict[str, Any]]) -> StreamingResponse:
    """Return all rows, each as soon as it is there."""
    return StreamingResponse((f"{json.dumps(each)}\n" for each in rows), media_type=LINES)
