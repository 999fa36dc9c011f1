"""The routes in a deployment's OpenAPI document, and bodies that match their schemas."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Route:
    """One method of one path, with its part of the document."""

    method: str
    path: str
    operation: Mapping[str, Any]
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The method and the path: `POST /api/v1/groups`."""
        return f"{self.method} {self.path}"

    @property
    def body(self) -> Mapping[str, Any] | None:
        """The schema of its JSON body, or None."""
        content = self.operation.get("requestBody", {}).get("content", {})
        return content.get("application/json", {}).get("schema")

    def parameters(self, place: str) -> Iterator[Mapping[str, Any]]:
        """Yield its parameters in the `path`, the `query` or a `header`."""
        for each in self.operation.get("parameters", ()):
            if each["in"] == place:
                yield each

    def filled(self, text: str) -> str:
        """Return the path with this text for every parameter."""
        path = self.path
        for each in self.parameters("path"):
            path = path.replace(f"{{{each['name']}}}", text)
        return path

    def sample(self, text: str) -> Any:
        """Return a body that matches the schema, with this text in every string."""
        return None if self.body is None else sample(self.body, self.document, text)


def routes(document: Mapping[str, Any]) -> list[Route]:
    """Return every route of a document."""
    return [
        Route(method.upper(), path, operations[method], document)
        for path, operations in sorted(document["paths"].items())
        for method in METHODS
        if method in operations
    ]


def resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with references resolved; of alternatives, the first that is not null."""
    while "$ref" in schema or "anyOf" in schema or "oneOf" in schema:
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        else:
            ways = schema.get("anyOf") or schema["oneOf"]
            schema = next(each for each in ways if each.get("type") != "null")
    return schema


def sample(schema: Mapping[str, Any], document: Mapping[str, Any], text: str) -> Any:
    """Return a value that matches a schema, with this text in every string."""
    schema = resolved(schema, document)
    fixed = [schema["const"]] if "const" in schema else schema.get("enum")
    if fixed:
        return fixed[0]
    match schema.get("type"):
        case "object":
            return _object(schema, document, text)
        case "array":
            return [sample(schema.get("items", {}), document, text)]
        case "integer" | "number":
            return max(schema.get("minimum", 0), schema.get("exclusiveMinimum", 0) + 1)
        case "boolean":
            return False
        case _:
            return text


def _object(schema: Mapping[str, Any], document: Mapping[str, Any], text: str) -> dict[str, Any]:
    found = {name: sample(each, document, text) for name, each in schema.get("properties", {}).items()}
    more = schema.get("additionalProperties")
    if not found and isinstance(more, dict):
        found[text] = sample(more, document, text)
    return found
