"""Rows in Arrow format that a client sends: written again in another process before the driver reads them."""

from collections.abc import Sequence
from typing import Any, Final

from headgate.spark.gateway.errors import ExhaustedError, InvalidRequestError
from headgate.untrusted_input.errors import OversizedInputError, ParsersBusyError, UnreadableInputError
from headgate.untrusted_input.pool import ParserPool

_STREAM_START: Final = b"\xff\xff\xff\xff"
_STREAM_END: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_ALIGNMENT: Final = 8
_MOST_RELATIONS: Final = 1000
_INLINE_BYTES: Final = 64 * 1024 * 1024
"""A message to the driver holds at most twice as much."""


def is_arrow(data: bytes) -> bool:
    """Return whether an artifact holds rows: any other is a schema in text."""
    return data.startswith(_STREAM_START)


class ArrowRows:
    """Rewrites rows by way of the parser processes."""

    def __init__(self, parsers: ParserPool) -> None:
        self._parsers = parsers

    async def rewrite(self, principal: str, streams: Sequence[bytes]) -> list[bytes]:
        """Return the streams with the same rows, written by us. Raises `InvalidRequestError`, `ExhaustedError`."""
        if not streams:
            return []
        try:
            written = await self._parsers.rewrite(principal, b"arrow", streams)
        except (UnreadableInputError, OversizedInputError) as error:
            raise InvalidRequestError(str(error)) from None
        except ParsersBusyError as error:
            raise ExhaustedError(str(error)) from None
        if not all(map(_is_framed, written)):
            raise InvalidRequestError("the rows are not a valid Arrow stream; send them again")
        return written

    async def rewrite_relations(self, principal: str, local_relations: Sequence[Any]) -> None:
        """Replace the rows in local relations of a plan. Raises `InvalidRequestError`, `ExhaustedError`."""
        streams = list(dict.fromkeys(relation.data for relation in local_relations if relation.data))
        if len(streams) > _MOST_RELATIONS:
            raise InvalidRequestError(f"the plan has more than {_MOST_RELATIONS:,} local relations; use a table")
        written = dict(zip(streams, await self.rewrite(principal, streams), strict=True))
        if sum(len(written.get(relation.data, b"")) for relation in local_relations) > _INLINE_BYTES:
            most = _INLINE_BYTES // 1024 // 1024
            raise InvalidRequestError(f"the plan carries more than {most} MiB of rows; upload them as cached artifacts")
        for relation in local_relations:
            if relation.data:
                relation.data = written[relation.data]
            else:
                relation.ClearField("data")


def _is_framed(stream: bytes) -> bool:
    """Return whether a parser's answer can be an Arrow stream at all."""
    return is_arrow(stream) and stream.endswith(_STREAM_END) and len(stream) % _ALIGNMENT == 0
