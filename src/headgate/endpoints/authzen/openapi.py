"""AuthZEN in the application's OpenAPI document: FastAPI generates the document, and does not serve the AuthZEN routes."""

from importlib.resources import files
from typing import Any

import yaml
from fastapi import FastAPI

from headgate.endpoints.authzen.endpoints import WELL_KNOWN


def add_authzen_paths(app: FastAPI) -> None:
    """Add the routes of AuthZEN to the OpenAPI document of an application."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        found = made()
        if WELL_KNOWN not in found["paths"]:
            _add(found)
        return found

    setattr(app, "openapi", openapi)  # noqa: B010 (FastAPI documents that way; a type checker regards `openapi` as a method)


def _add(found: dict[str, Any]) -> None:
    told = yaml.safe_load(files("headgate.endpoints.authzen").joinpath("openapi.yaml").read_text(encoding="utf-8"))
    errors = {code: _error(text) for code, text in told["errors"].items()}
    for path, item in told["paths"].items():
        post = item["post"]
        found["paths"][path] = {"post": {**told["common"], **post, "responses": {**post["responses"], **errors}}}
    found["paths"][WELL_KNOWN] = told["discovery"]
    components = found.setdefault("components", {})
    for kind, named in told["components"].items():
        components.setdefault(kind, {}).update(named)


def _error(text: str) -> dict[str, Any]:
    """Return the description of an error response: plain text from AuthZEN, a problem document from a middleware."""
    return {
        "description": text,
        "content": {"text/plain": {"schema": {"type": "string"}}, "application/problem+json": {}},
    }
