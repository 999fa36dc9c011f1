"""The kinds of documents that a resource may have."""

from collections.abc import Mapping

_DOCUMENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("source", "integration", "query", "history", "destination", "saved_query"), ("pipeline",)),
    **dict.fromkeys(("stream_capture", "table_service"), ("pipeline",)),
    "visualization": ("pipeline", "shown"),
}
"""The kinds of documents that a type has, where it is not one that is called as the type is."""

DESCRIPTION = "description"
"""The kind of document that describes a resource of any type."""


def document_kinds(type: str) -> tuple[str, ...]:
    """Return the kinds of documents that a resource of a type may have, under its id."""
    return (*_DOCUMENTS.get(type, (type,)), DESCRIPTION)
