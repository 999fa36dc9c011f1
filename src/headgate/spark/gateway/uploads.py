"""One upload of artifacts: from the client's requests to new requests for the driver."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from headgate.spark.gateway.arrow_rows import ArrowRows
from headgate.spark.gateway.artifact_names import CACHE_PREFIX, ROWS_KIND, SCHEMA, driver_hash
from headgate.spark.gateway.artifacts import Artifact, ArtifactRequest, Collector, upload_requests, verify_hashes
from headgate.spark.gateway.protos import base
from headgate.spark.gateway.upload_budget import Share

_GROUP_BYTES: Final = 4 * 1024 * 1024
_GROUP_ARTIFACTS: Final = 256
"""The limits of a group of artifacts. One parser process rewrites a group: starting one costs as much as rewriting 1 MB."""


class Upload:
    """Collects the client's artifacts, and returns requests for the driver whenever a group is complete."""

    def __init__(self, head: ArtifactRequest, rows: ArrowRows, principal: str, share: Share) -> None:
        """`head` is the first request, checked and with the caller's identity."""
        self._head = base.AddArtifactsRequest()
        self._head.CopyFrom(head)
        self._head.ClearField(head.WhichOneof("payload") or "batch")
        self._rows = rows
        self._principal = principal
        self._share = share
        self._collector = Collector()
        self._group: list[Artifact] = []
        self.client_names: dict[str, str] = {}
        """Name in the driver -> the client's name, for the artifacts that were sent to the driver."""

    async def take(self, request: ArtifactRequest, size: int) -> Iterator[bytes]:
        """Return the requests for the driver that a checked request of the client completes. Raises `GatewayError`s.

        `size` is the number of bytes that the client sent. The iterator creates the requests lazily, and returns the
        memory of the upload to the budget after the last one.
        """
        self._share.take(size)
        self._group += await asyncio.to_thread(self._collector.take, request)
        size = sum(len(artifact.data) for artifact in self._group)
        if size < _GROUP_BYTES and len(self._group) < _GROUP_ARTIFACTS:
            return iter(())
        return await self._rewrite()

    async def finish(self) -> Iterator[bytes]:
        """Return the last requests for the driver. Raises `GatewayError`s."""
        self._collector.finish()
        return await self._rewrite()

    async def _rewrite(self) -> Iterator[bytes]:
        group, self._group = self._group, []
        await asyncio.to_thread(verify_hashes, group)
        rows = [artifact for artifact in group if artifact.is_rows]
        schemas = [artifact for artifact in group if not artifact.is_rows]
        written = await self._rows.rewrite_artifacts(self._principal, [each.data for each in rows], self._share)
        renewed = [self._renamed(ROWS_KIND, replace(each, data=data)) for each, data in zip(rows, written, strict=True)]
        return self._requests([self._renamed(SCHEMA, each) for each in schemas] + renewed)

    def _requests(self, artifacts: Sequence[Artifact]) -> Iterator[bytes]:
        yield from upload_requests(self._head, artifacts)
        # A group ends with the last chunk of an artifact, so the upload holds no other bytes.
        self._share.give()

    def _renamed(self, kind: str, artifact: Artifact) -> Artifact:
        """Return the artifact with the driver's hash, and record the client's name."""
        hash = driver_hash(kind, artifact.hash)
        self.client_names[CACHE_PREFIX + hash] = CACHE_PREFIX + artifact.hash
        return replace(artifact, hash=hash)
