"""A view version, as clients send it to the Iceberg REST catalog."""

from typing import Any


def view_version(database: str) -> dict[str, Any]:
    """Return a version with schema 0 that resolves unqualified names in the database."""
    return {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": 1,
        "summary": {},
        "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}],
        "default-namespace": [database],
    }
