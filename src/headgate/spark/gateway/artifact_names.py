"""Names of artifacts in the driver: a hash of the kind of an artifact and of the client's hash.

A plan names artifacts with rows and an artifact with a schema. Spark does not check which is which: it would interpret
the first letters of a schema as a length in Arrow's old format, and allocate that many bytes. With these names a plan
cannot name a schema as rows, in whichever session it was uploaded.
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
"""The limit of the artifacts of one upload, and of the names in one request for their statuses."""


def driver_hash(kind: str, client_hash: str) -> str:
    """Return the hash under which the driver stores an artifact."""
    return hashlib.sha256(f"{kind}:{client_hash}".encode()).hexdigest()


def name_cached_rows(relation: Any) -> None:
    """Replace the client's hashes in a `ChunkedCachedLocalRelation` by the driver's."""
    relation.dataHashes[:] = [driver_hash(ROWS_KIND, each) for each in relation.dataHashes]
    if relation.HasField("schemaHash"):
        relation.schemaHash = driver_hash(SCHEMA, relation.schemaHash)


def name_asked_artifacts(request: Any) -> dict[str, str]:
    """Replace the names in an `ArtifactStatusesRequest` by the driver's; return driver's name -> client's name."""
    clients = {_driver_name(kind, name): name for name in request.names for kind in (ROWS_KIND, SCHEMA)}
    request.names[:] = list(clients)
    return clients


def restore_statuses(answer: bytes, clients: Mapping[str, str]) -> bytes:
    """Return an `ArtifactStatusesResponse` with the client's names; an artifact exists if the driver has it as either kind.

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
