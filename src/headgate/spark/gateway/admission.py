"""From the bytes of a request to a request that may go on, in the caller's name - or an error."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from google._upb import _message  # pyright: ignore[reportMissingModuleSource]
from google.protobuf.message import DecodeError

from headgate.spark.gateway.call_identity import SessionKey, stamp
from headgate.spark.gateway.errors import InvalidRequestError, TooComplexError
from headgate.spark.gateway.policy.plans import MAX_PLAN_BYTES, unpack_plan
from headgate.spark.gateway.policy.references import References, find_references
from headgate.spark.gateway.policy.rules import RequestingCaller
from headgate.spark.gateway.policy.walk import TOO_DEEP, check_request
from headgate.spark.gateway.rpcs import EXECUTE_PLAN, Rpc
from headgate.spark.gateway.wire_format import parse_message

_STACK: Final = 256 * 1024 * 1024
"""Enough for a message nested as deep as protobuf can read at all (65,535 levels); only what is used is taken."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that was checked and carries the caller's identity, and what else must be allowed before it goes on."""

    request: Any
    key: SessionKey
    references: References


def admit(rpc: Rpc, data: bytes, reader: RequestingCaller, most: int = MAX_PLAN_BYTES) -> Admitted:
    """Return the checked request. Runs on an `inspector` thread.

    Raises `RequestRefusedError`, `InvalidRequestError`, and `LargePlanError` if it has a compressed plan of more than `most` bytes.
    """
    try:
        request = parse_message(rpc.request, data)
    except DecodeError:
        raise InvalidRequestError(f"this is not a request of `{rpc.name}`") from None
    unpack_plan(request, most)
    try:
        referring = check_request(request, reader)
    except RecursionError:  # of a rule that looks at the arguments of SQL
        raise TooComplexError(TOO_DEEP) from None
    key = stamp(request, reader.caller)
    if rpc is EXECUTE_PLAN and not request.operation_id:
        # Spark would give it one that nobody here knows.
        request.operation_id = str(uuid.uuid4())
    return Admitted(request, key, find_references(referring))


def build_inspector(threads: int = 1) -> ThreadPoolExecutor:
    """Return the threads that read requests: off the event loop, with a stack that no nesting exhausts.

    Python's protobuf reads 100 levels unless told otherwise, which is some fifty DataFrame operations; Spark reads
    1024. The switch is one for the whole process, so nothing but the gateway may read foreign messages in it.
    """
    _message.SetAllowOversizeProtos(True)  # noqa: FBT003 - a C function without keywords
    executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="gateway-inspector")
    before = threading.stack_size(_STACK)
    try:
        # A thread is begun only while the others are busy, and has the stack size of that moment.
        begun = threading.Barrier(threads)
        for work in [executor.submit(begun.wait) for _ in range(threads)]:
            work.result()
    finally:
        threading.stack_size(before)
    return executor
