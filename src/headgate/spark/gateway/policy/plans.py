"""Decompression of plans, within a size limit. The check and Spark then see the same plan."""

from collections.abc import Iterator
from typing import Any, Final

import zstandard
from google.protobuf.message import DecodeError, Message

from headgate.spark.gateway.errors import InvalidRequestError, RequestRefusedError, TooLargeError
from headgate.spark.gateway.protos import base, commands, relations
from headgate.spark.gateway.wire_format import parse_message

MAX_PLAN_BYTES: Final = 64 * 1024 * 1024
_OPERATION: Final = base.Plan.CompressedOperation


class LargePlanError(Exception):
    """A plan is larger after decompression than the caller of `unpack_plan` allowed."""


def unpack_plan(request: Message, most: int = MAX_PLAN_BYTES) -> None:
    """Replace every compressed plan of the request by its decompressed content.

    Raises `RequestRefusedError`, `InvalidRequestError`, and `LargePlanError` for a plan of more than `most` bytes.
    """
    for plan in _plans(request):
        if plan.HasField("compressed_operation"):
            _unpack_plan(plan, most)


def _plans(message: Message, depth: int = 0) -> Iterator[Any]:
    """Yield the plans of a request; they are fields of the request itself or of a message directly below it."""
    for field, value in message.ListFields():
        if field.message_type is None or field.is_repeated:
            continue
        if isinstance(value, base.Plan):
            yield value
        elif depth == 0:
            yield from _plans(value, depth + 1)


def _unpack_plan(plan: Any, most: int) -> None:
    operation = plan.compressed_operation
    if operation.compression_codec != base.COMPRESSION_CODEC_ZSTD:
        raise RequestRefusedError(
            "the request is compressed with an unknown codec; use zstd, or send the request uncompressed"
        )
    data = _decompress(operation.data, most)
    try:
        if operation.op_type == _OPERATION.OP_TYPE_RELATION:
            plan.root.CopyFrom(parse_message(relations.Relation, data))
        elif operation.op_type == _OPERATION.OP_TYPE_COMMAND:
            plan.command.CopyFrom(parse_message(commands.Command, data))
        else:
            raise RequestRefusedError("the type of the compressed request is unknown; use a PySpark 4.1 client")
    except DecodeError:
        raise InvalidRequestError(
            "the compressed request is not a valid Spark Connect message; send it again, with a PySpark 4.1 client"
        ) from None


def _decompress(data: bytes, most: int) -> bytes:
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            plan = reader.read(most + 1)
    except (zstandard.ZstdError, MemoryError):
        raise InvalidRequestError(
            "the request cannot be decompressed as zstd; send it again, with a PySpark 4.1 client"
        ) from None
    if len(plan) <= most:
        return plan
    if most < MAX_PLAN_BYTES:
        raise LargePlanError
    raise TooLargeError(
        f"the request is larger than {MAX_PLAN_BYTES // 1024 // 1024} MiB after decompression; send fewer rows in one request, for example append the rows to a table in several requests"
    )
