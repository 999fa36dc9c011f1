"""Sanitizing of Arrow rows from a client: a parser process rewrites them before the driver reads them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from headgate.spark.gateway.errors import ExhaustedError, InvalidRequestError
from headgate.spark.gateway.upload_budget import Share
from headgate.untrusted_input.errors import OversizedInputError, ParsersBusyError, UnreadableInputError
from headgate.untrusted_input.pool import ParserPool

_STREAM_START: Final = b"\xff\xff\xff\xff"
_STREAM_END: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_ALIGNMENT: Final = 8
_MOST_RELATIONS: Final = 1000
_INLINE_BYTES: Final = 64 * 1024 * 1024
"""The limit of the rewritten rows in one plan, in bytes. A message to the driver holds at most twice as much."""
_INLINE_TOO_LARGE: Final = f"the DataFrame contains more than {_INLINE_BYTES // 1024 // 1024} MiB of local rows; write the rows to a table first"
_UPLOAD_BYTES: Final = 192 * 1024 * 1024
"""The limit of the artifacts that are rewritten together, in bytes after rewriting. The largest single artifact is smaller."""


def is_arrow(data: bytes) -> bool:
    """Whether an artifact contains rows; any other artifact is a schema in text."""
    return data.startswith(_STREAM_START)


class ArrowRows:
    """Rewrites rows in the parser processes."""

    def __init__(self, parsers: ParserPool) -> None:
        self._parsers = parsers

    async def rewrite_artifacts(self, principal: str, streams: Sequence[bytes], share: Share) -> list[bytes]:
        """Return the streams rewritten with the same rows. Raises `InvalidRequestError`, `ExhaustedError`."""
        most = _UPLOAD_BYTES // 1024 // 1024
        too_large = f"the upload contains more than {most} MiB of rows after decompression; pass fewer rows to `createDataFrame` at once"
        return await self._rewrite(principal, streams, _charge(share, _UPLOAD_BYTES, too_large))

    async def rewrite_relations(self, principal: str, local_relations: Sequence[Any], share: Share) -> None:
        """Replace the rows in local relations of a plan. Raises `InvalidRequestError`, `ExhaustedError`."""
        streams = await asyncio.to_thread(_distinct_streams, local_relations)
        if len(streams) > _MOST_RELATIONS:
            raise InvalidRequestError(
                f"the DataFrame has more than {_MOST_RELATIONS:,} parts with local rows; write their rows to a table first"
            )
        written = await self._rewrite(principal, streams, _charge(share, _INLINE_BYTES, _INLINE_TOO_LARGE))
        await asyncio.to_thread(_put_rows, local_relations, dict(zip(streams, written, strict=True)))

    async def _rewrite(self, principal: str, streams: Sequence[bytes], charge: Callable[[int], None]) -> list[bytes]:
        if not streams:
            return []
        try:
            written = await self._parsers.rewrite(principal, b"arrow", streams, charge)
        except (UnreadableInputError, OversizedInputError) as error:
            raise InvalidRequestError(str(error)) from None
        except ParsersBusyError as error:
            raise ExhaustedError(str(error)) from None
        if not all(map(_is_framed, written)):
            raise InvalidRequestError("the rows of the upload are not a valid Arrow stream; send the rows again")
        return written


def _charge(share: Share, most: int, too_large: str) -> Callable[[int], None]:
    """Return a function that adds bytes to `share`, and raises `InvalidRequestError` above the limit of one request."""
    charged = 0

    def charge(size: int) -> None:
        nonlocal charged
        charged += size
        if charged > most:
            raise InvalidRequestError(too_large)
        share.take(size)

    return charge


def _distinct_streams(local_relations: Sequence[Any]) -> list[bytes]:
    """Return the distinct Arrow streams in local relations. This is slow: each read of a field of bytes copies it."""
    return list(dict.fromkeys(data for relation in local_relations if (data := relation.data)))


def _put_rows(local_relations: Sequence[Any], written: Mapping[bytes, bytes]) -> None:
    """Replace rows by the rewritten ones. Raises `InvalidRequestError` if repeated rows are too large in sum."""
    renewed = [written.get(relation.data, b"") for relation in local_relations]
    if sum(map(len, renewed)) > _INLINE_BYTES:
        raise InvalidRequestError(_INLINE_TOO_LARGE)
    for relation, data in zip(local_relations, renewed, strict=True):
        if data:
            relation.data = data
        else:
            relation.ClearField("data")


def _is_framed(stream: bytes) -> bool:
    """Whether a parser's output has the start, end and alignment of an Arrow stream."""
    return is_arrow(stream) and stream.endswith(_STREAM_END) and len(stream) % _ALIGNMENT == 0
