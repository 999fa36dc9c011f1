"""The commit of a client that creates a staged table."""

from collections.abc import Mapping
from typing import Any


def build_create_updates(metadata: Mapping[str, Any], version: int | None = 2) -> list[dict[str, Any]]:
    """Return the updates that create a table from its staged metadata, in this format version; None leaves the version out."""
    upgrade = {"action": "upgrade-format-version", "format-version": version}
    return [
        {"action": "assign-uuid", "uuid": metadata["table-uuid"]},
        *([] if version is None else [upgrade]),
        {"action": "add-schema", "schema": metadata["schemas"][0], "last-column-id": metadata["last-column-id"]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": metadata["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": metadata["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": metadata["location"]},
    ]


def build_create_commit(metadata: Mapping[str, Any], version: int | None = 2) -> dict[str, Any]:
    """Return the body of the request that creates a table with these updates alone."""
    return {"requirements": [{"type": "assert-create"}], "updates": build_create_updates(metadata, version)}
