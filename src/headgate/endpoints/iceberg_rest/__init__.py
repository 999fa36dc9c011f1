"""The Iceberg REST catalog: namespaces, tables and commits for any engine, decided per call."""

from headgate.endpoints.iceberg_rest.router import iceberg_router

__all__ = ["iceberg_router"]
