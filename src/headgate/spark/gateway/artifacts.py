"""Artifacts that a client uploads: collected completely, verified by the hash in their name, and sent on in new chunks."""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from headgate.spark.gateway.arrow_rows import is_arrow
from headgate.spark.gateway.artifact_names import CACHE_PREFIX, MAX_ARTIFACTS
from headgate.spark.gateway.errors import InvalidRequestError, RequestRefusedError
from headgate.spark.gateway.policy.schemas import MAX_SCHEMA_BYTES, check_schema
from headgate.spark.gateway.protos import base

MAX_ARTIFACT_BYTES: Final = 128 * 1024 * 1024
_CHUNK_BYTES: Final = 1024 * 1024
_CONTROLS: Final = frozenset(map(chr, (*range(9), 11, 12, *range(14, 32), 127)))

ArtifactRequest = Any
"""An `AddArtifactsRequest`; the type stubs lack its nested messages."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A complete artifact, and the hash in its name."""

    hash: str
    data: bytes = field(repr=False)

    @property
    def is_rows(self) -> bool:
        """Whether the artifact contains rows in Arrow format; otherwise it is a schema in text."""
        return is_arrow(self.data)


def verify_hashes(artifacts: Iterable[Artifact]) -> None:
    """Raise `InvalidRequestError` for a wrong hash, and `RequestRefusedError` for an invalid schema. This is slow."""
    for artifact in artifacts:
        if hashlib.sha256(artifact.data).hexdigest() != artifact.hash:
            raise InvalidRequestError(
                f"the content of the artifact `{CACHE_PREFIX}{artifact.hash}` does not match the SHA-256 hash in its name; upload the artifact again"
            )
        if not artifact.is_rows:
            _check_text(artifact.data)


def _check_text(data: bytes) -> None:
    if len(data) > MAX_SCHEMA_BYTES:
        raise RequestRefusedError(
            f"the schema in the upload is larger than {MAX_SCHEMA_BYTES // 1024 // 1024} MiB; use fewer columns"
        )
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    # Arrow's old format begins with a small number: a text without control characters cannot be misread as such.
    if not _CONTROLS.isdisjoint(text):
        raise RequestRefusedError(
            "an artifact of the upload is neither rows in Arrow format nor a schema as a string; use `createDataFrame` of PySpark 4.1"
        )
    check_schema(text)


class Collector:
    """Assembles the artifacts of one upload, in the order of its requests. It is slow: it reads every byte."""

    def __init__(self) -> None:
        self._count = 0
        self._begun: _Begun | None = None

    def take(self, request: ArtifactRequest) -> list[Artifact]:
        """Return the artifacts that this request completes. Raises `InvalidRequestError`."""
        kind = request.WhichOneof("payload")
        if kind == "chunk":
            return self._continue(request.chunk)
        self.finish()
        if kind == "batch":
            return [self._whole(each) for each in request.batch.artifacts]
        if kind == "begin_chunk":
            return self._begin(request.begin_chunk)
        return []

    def finish(self) -> None:
        """Raise `InvalidRequestError` if an artifact is incomplete."""
        if self._begun is not None:
            raise InvalidRequestError(f"chunks of the artifact `{self._begun.name}` are missing; upload it again")

    def _whole(self, message: Any) -> Artifact:
        return Artifact(self._hash(message.name), self._checked(message.name, message.data))

    def _begin(self, message: Any) -> list[Artifact]:
        if message.total_bytes <= 0:
            raise InvalidRequestError(f"the artifact `{message.name}` is empty; leave it out")
        if message.total_bytes > MAX_ARTIFACT_BYTES:
            most = MAX_ARTIFACT_BYTES // 1024 // 1024
            raise InvalidRequestError(
                f"the artifact `{message.name}` is larger than {most} MiB; pass fewer rows to `createDataFrame` at once"
            )
        self._begun = _Begun(message.name, self._hash(message.name), message.total_bytes, message.num_chunks)
        return self._continue(message.initial_chunk)

    def _continue(self, chunk: Any) -> list[Artifact]:
        begun = self._begun
        if begun is None:
            raise InvalidRequestError(
                "the upload has a chunk before the beginning of its artifact; upload the artifact again"
            )
        begun.data += self._checked(begun.name, chunk)
        begun.missing_chunks -= 1
        is_whole = len(begun.data) == begun.total_bytes
        if not chunk.data or len(begun.data) > begun.total_bytes or is_whole != (begun.missing_chunks == 0):
            raise InvalidRequestError(
                f"the chunks of the artifact `{begun.name}` do not match its announced size or number of chunks; upload it again"
            )
        if not is_whole:
            return []
        self._begun = None
        return [Artifact(begun.hash, bytes(begun.data))]

    def _hash(self, name: str) -> str:
        self._count += 1
        if self._count > MAX_ARTIFACTS:
            raise InvalidRequestError(
                f"the upload has more than {MAX_ARTIFACTS:,} artifacts; send them in several uploads"
            )
        return name.removeprefix(CACHE_PREFIX)

    def _checked(self, name: str, chunk: Any) -> bytes:
        data = chunk.data
        if zlib.crc32(data) != chunk.crc:
            raise InvalidRequestError(
                f"a chunk of the artifact `{name}` does not match its CRC-32 checksum; upload it again"
            )
        return data


@dataclass(slots=True)
class _Begun:
    """An incomplete artifact: the chunks received until now."""

    name: str
    hash: str
    total_bytes: int
    missing_chunks: int
    data: bytearray = field(default_factory=bytearray)


def upload_requests(head: ArtifactRequest, artifacts: Sequence[Artifact]) -> Iterator[bytes]:
    """Yield the requests that upload artifacts to the driver, with the caller and session of `head`."""
    small = [artifact for artifact in artifacts if len(artifact.data) <= _CHUNK_BYTES]
    yield from _batches(head, small)
    for artifact in artifacts:
        if len(artifact.data) > _CHUNK_BYTES:
            yield from _chunked(head, artifact)


def _batches(head: ArtifactRequest, artifacts: Sequence[Artifact]) -> Iterator[bytes]:
    request, size = _empty(head), 0
    for artifact in artifacts:
        if size and size + len(artifact.data) > _CHUNK_BYTES:
            yield request.SerializeToString()
            request, size = _empty(head), 0
        request.batch.artifacts.add(name=CACHE_PREFIX + artifact.hash, data=_chunk(artifact.data))
        size += len(artifact.data)
    if request.batch.artifacts:
        yield request.SerializeToString()


def _chunked(head: ArtifactRequest, artifact: Artifact) -> Iterator[bytes]:
    starts = range(0, len(artifact.data), _CHUNK_BYTES)
    for start in starts:
        request, chunk = _empty(head), _chunk(artifact.data[start : start + _CHUNK_BYTES])
        if start == 0:
            request.begin_chunk.name = CACHE_PREFIX + artifact.hash
            request.begin_chunk.total_bytes = len(artifact.data)
            request.begin_chunk.num_chunks = len(starts)
            request.begin_chunk.initial_chunk.CopyFrom(chunk)
        else:
            request.chunk.CopyFrom(chunk)
        yield request.SerializeToString()


def _chunk(data: bytes) -> Any:
    return base.AddArtifactsRequest.ArtifactChunk(data=data, crc=zlib.crc32(data))


def _empty(head: ArtifactRequest) -> ArtifactRequest:
    request = base.AddArtifactsRequest()
    request.CopyFrom(head)
    return request
