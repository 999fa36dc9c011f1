"""The names under which the driver has artifacts: made of what an artifact is and of the hash that the client knows.

A plan names artifacts with rows and an artifact with a schema. Spark does not look at which is which: it would read the
first letters of a schema as a length in Arrow's old format, and allocate that much. With these names a schema cannot be
named as rows, in whatever session it was uploaded.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from headgate.spark.gateway.protos import base
from headgate.spark.gateway.response_limits import parse_answer, require_few_parts

CACHE_PREFIX: Final = "cache/"
ROWS_KIND: Final = "rows"
SCHEMA: Final = "schema"
MAX_ARTIFACTS: Final = 65_536
"""Artifacts of one upload, and names in one question about them."""


def driver_hash(kind: str, client_hash: str) -> str:
    """Return the hash that the driver knows an artifact by."""
    return hashlib.sha256(f"{kind}:{client_hash}".encode()).hexdigest()


def name_cached_rows(relation: Any) -> None:
    """Put the driver's hashes into a `ChunkedCachedLocalRelation`."""
    relation.dataHashes[:] = [driver_hash(ROWS_KIND, each) for each in relation.dataHashes]
    if relation.HasField("schemaHash"):
        relation.schemaHash = driver_hash(SCHEMA, relation.schemaHash)


def name_asked_artifacts(request: Any) -> dict[str, str]:
    """Put the driver's names into an `ArtifactStatusesRequest`; return the client's name of each."""
    clients = {_driver_name(kind, name): name for name in request.names for kind in (ROWS_KIND, SCHEMA)}
    request.names[:] = list(clients)
    return clients


def restore_statuses(answer: bytes, clients: Mapping[str, str]) -> bytes:
    """Return an `ArtifactStatusesResponse` with the client's names: it has an artifact that is there as either kind.

    Raises `DriverAnswerError`.
    """
    response = parse_answer(base.ArtifactStatusesResponse, answer)
    require_few_parts(response.statuses, len(clients))
    found = {name: status.exists for name, status in response.statuses.items()}
    response.statuses.clear()
    for name, client in clients.items():
        response.statuses[client].exists |= found.get(name, False)
    return response.SerializeToString()


def restore_summaries(answer: bytes, clients: Mapping[str, str]) -> bytes:
    """Return an `AddArtifactsResponse` with the client's names. Raises `DriverAnswerError`."""
    response = parse_answer(base.AddArtifactsResponse, answer)
    require_few_parts(response.artifacts, MAX_ARTIFACTS)
    for summary in response.artifacts:
        summary.name = clients.get(summary.name, summary.name)
    return response.SerializeToString()


def _driver_name(kind: str, name: str) -> str:
    return CACHE_PREFIX + driver_hash(kind, name.removeprefix(CACHE_PREFIX))
