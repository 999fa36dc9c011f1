"""A version of a view, as clients send it to the Iceberg REST catalog."""

from typing import Any


def view_version(database: str) -> dict[str, Any]:
    """Return a version with the schema 0 whose unqualified names are of the database."""
    return {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": 1,
        "summary": {},
        "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}],
        "default-namespace": [database],
    }
