"""What all routes that make something say of a dry run in the OpenAPI document."""

from typing import Any

from fastapi import FastAPI

_DRY = "A dry run: nothing was written, and this is what would be, and what would be different for whom."


def document(app: FastAPI) -> None:
    """Have the OpenAPI document tell that a dry run of what answers 201 or 202 answers 200."""
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
