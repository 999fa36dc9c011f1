"""Admission of requests: parses and checks the bytes of a request, and sets the caller's identity in it."""

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
from headgate.spark.gateway.rpcs import CONFIG_RPC, EXECUTE_PLAN, Rpc
from headgate.spark.gateway.session_settings import drop_refused_settings
from headgate.spark.gateway.wire_format import parse_message

_STACK: Final = 256 * 1024 * 1024
"""The stack size in bytes: enough for the deepest message that protobuf reads (65,535 levels); only used pages take memory."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A checked request with the caller's identity, and the references that must be allowed before it is sent."""

    request: Any
    key: SessionKey
    references: References
    warnings: tuple[str, ...] = ()
    """Warnings of what was left out of the request, for the response."""


def admit(rpc: Rpc, data: bytes, reader: RequestingCaller, most: int = MAX_PLAN_BYTES) -> Admitted:
    """Return the checked request. Runs on an `inspector` thread.

    Raises `RequestRefusedError`, `InvalidRequestError`, and `LargePlanError` if it has a compressed plan of more than `most` bytes.
    """
    try:
        request = parse_message(rpc.request, data)
    except DecodeError:
        raise InvalidRequestError(
            f"the request is not a valid message of `{rpc.name}`; use a PySpark 4.1 client"
        ) from None
    unpack_plan(request, most)
    warnings = drop_refused_settings(request) if rpc is CONFIG_RPC else ()
    try:
        referring = check_request(request, reader)
    except RecursionError:  # from the rule for the arguments of SQL
        raise TooComplexError(TOO_DEEP) from None
    key = stamp(request, reader.caller)
    if rpc is EXECUTE_PLAN and not request.operation_id:
        # Without one, Spark would choose an id that the gateway does not know.
        request.operation_id = str(uuid.uuid4())
    return Admitted(request, key, find_references(referring), warnings)


def build_inspector(threads: int = 1) -> ThreadPoolExecutor:
    """Return the threads that parse requests: outside the event loop, with a stack that no nesting exhausts.

    Python's protobuf reads 100 levels by default, which is about fifty DataFrame operations; Spark reads 1024. The
    switch applies to the whole process, so only the gateway may parse untrusted messages in it.
    """
    _message.SetAllowOversizeProtos(True)  # noqa: FBT003 - a C function without keywords
    executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="gateway-inspector")
    before = threading.stack_size(_STACK)
    try:
        # The executor starts a thread only while the others are busy, with the stack size of that moment.
        begun = threading.Barrier(threads)
        for work in [executor.submit(begun.wait) for _ in range(threads)]:
            work.result()
    finally:
        threading.stack_size(before)
    return executor
