"""The reference of the HTTP API, from its OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any

from headgate.endpoints.common.route_metadata import NEEDS, OWN, PUBLIC

_HEAD = """\
# The HTTP API

This page lists every endpoint with the actions that it needs, its parameters and its answers. It is generated from the OpenAPI document, which a
server publishes at `/api/openapi.json`; a test compares the two.

Every endpoint is also available below `/o/{organization}`, for users that are in several organizations. "needs" names the actions that the caller must be
allowed to perform; the access model that governs the resource decides. `discover` means any action on the returned resource. Every write to a log accepts
`dry_run=true`, `Idempotency-Key` and, if it changes one resource, `If-Match`. Every error is a [problem document](https://www.rfc-editor.org/rfc/rfc9457).

If the same caller sends a request again with the same `Idempotency-Key`, later or at the same moment, the server does not execute it again. It returns the
answer of the first request, with the header `Idempotency-Replayed: true` and without secrets. A different request with the same key is refused with 422. An
endpoint that does not list `idempotency-key` ignores the header: logins, passwords and sessions, device codes, the acceptance of an invitation, dismissed
notifications, questions and SQL. A code or an invitation can be used once, a notification that is dismissed again stays dismissed, and a statement that is
sent again runs again.
"""
_METHODS = ("get", "post", "put", "patch", "delete")

Document = Mapping[str, Any]


def api_page(document: Document) -> str:
    """Return the page."""
    groups: dict[str, list[str]] = {}
    for path, verbs in sorted(document["paths"].items()):
        for method in _METHODS:
            if method in verbs:
                operation = verbs[method]
                tag = next(iter(operation.get("tags", ())), "other")
                groups.setdefault(tag, []).append("\n".join(_operation(document, path, method, operation)))
    sections = (f"\n## {tag}\n\n" + "\n".join(groups[tag]) for tag in sorted(groups))
    return _HEAD + "".join(sections)


def _operation(document: Document, path: str, method: str, operation: Document) -> Iterator[str]:
    yield f"### `{method.upper()} {path}`"
    yield ""
    yield _sentence(operation)
    yield ""
    yield from (f"- {line}" for line in _lines(document, operation))
    yield ""


def _sentence(operation: Document) -> str:
    return str(operation.get("description") or operation.get("summary", "")).strip().replace("\n", " ")


def _lines(document: Document, operation: Document) -> Iterator[str]:
    if NEEDS in operation:
        yield f"needs {', '.join(f'`{each}`' for each in operation[NEEDS])}"
    if PUBLIC in operation:
        yield f"public: {operation[PUBLIC]}"
    if OWN in operation:
        yield f"needs no action: {operation[OWN]}"
    for place in ("path", "query", "header"):
        named = [each for each in operation.get("parameters", ()) if each["in"] == place]
        if named:
            yield f"{place}: {', '.join(map(_parameter, named))}"
    body = _schema_of(operation.get("requestBody", {}))
    if body is not None:
        yield f"body: {_shape(document, body)}"
    for status, answer in operation["responses"].items():
        schema = _schema_of(answer)
        if status.startswith("2") and schema is not None:
            yield f"answers {status}: {_shape(document, schema)}"
        elif status.startswith(("2", "3")):
            yield f"answers {status}"


def _parameter(parameter: Document) -> str:
    return f"`{parameter['name']}`{'' if parameter.get('required') else '?'}"


def _schema_of(part: Document) -> Document | None:
    for content in part.get("content", {}).values():
        if content.get("schema"):
            schema: Document = content["schema"]
            return schema
    return None


def _shape(document: Document, schema: Document) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return _fields(document, document["components"]["schemas"][name])
    if schema.get("type") == "array":
        return f"list of {_shape(document, schema.get('items', {}))}"
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        return " or ".join(_shape(document, each) for each in alternatives)
    return _fields(document, schema)


def _fields(document: Document, schema: Document) -> str:
    if schema.get("anyOf") or schema.get("oneOf"):
        return _shape(document, schema)
    properties = schema.get("properties")
    if not properties:
        return str(schema.get("type", "anything"))
    required = schema.get("required", ())
    return ", ".join(f"`{name}`{'' if name in required else '?'}" for name in properties)
