"""The guard probe: a statement without a principal, which a driver with an active guard refuses.

If Spark cannot load the guard, it logs a warning and runs without it. So the refusal is the only proof of the guard.
"""

import asyncio
import time
import uuid
from typing import cast

import grpc
import grpc.aio
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from pyspark.sql.connect.proto import ExecutePlanRequest
from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

from headgate.control.text.error_text import REFUSED_STATE

_POLL = 0.05
_ANSWER_WITHIN = 60.0


class GuardProbeError(Exception):
    """The driver does not respond, or serves a caller without a principal."""


async def wait_until_listening(address: str, within: float) -> None:
    """Return once something listens at the address. Raises `GuardProbeError` if nothing does in time."""
    host, port = address.split(":")
    deadline = time.monotonic() + within
    while True:
        try:
            _, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            if time.monotonic() > deadline:
                message = f"the Spark driver did not begin to listen within {within:.0f} s; check the memory and load of the machine"
                raise GuardProbeError(message) from None
            await asyncio.sleep(_POLL)
        else:
            writer.close()
            return


async def require_guarded(address: str, token: str) -> None:
    """Return if `SELECT 1` without a principal is refused as the guard refuses. Raises `GuardProbeError` otherwise."""
    error = await _run_probe(address, token)
    if error is None:
        raise GuardProbeError(
            "the Spark driver did not refuse a statement without a user, so Headgate's guard is not active in it and no user is served; "
            "install Headgate again with its own version of PySpark"
        )
    if _sql_state(error) != REFUSED_STATE:
        raise GuardProbeError(
            f"the Spark driver failed at a statement without a user, which Headgate's guard should refuse ({error.details()}); check the memory and load of the machine"
        ) from error


async def require_token_enforced(address: str) -> None:
    """Return if the driver refuses a call with a wrong token. Raises `GuardProbeError` otherwise."""
    error = await _run_probe(address, "nobody")
    if error is None or error.code() is not grpc.StatusCode.UNAUTHENTICATED:
        raise GuardProbeError(
            "the Spark driver does not check the token of its callers, so no user is served; install Headgate again"
        )


async def _run_probe(address: str, token: str) -> grpc.aio.AioRpcError | None:
    request = ExecutePlanRequest(session_id=str(uuid.uuid4()))
    request.user_context.user_id = "headgate-probe"
    request.plan.root.sql.query = "SELECT 1"
    metadata = (("authorization", f"Bearer {token}"),)
    async with grpc.aio.insecure_channel(address) as channel:
        call = SparkConnectServiceStub(channel).ExecutePlan(request, metadata=metadata, timeout=_ANSWER_WITHIN)
        try:
            async for _ in call:  # the first messages may only report progress
                pass
        except grpc.aio.AioRpcError as error:
            return error
    return None


def _sql_state(error: grpc.aio.AioRpcError) -> str | None:
    status = rpc_status.from_call(cast(grpc.Call, error))  # it has the three methods of `grpc.Call` that are used
    for detail in status.details if status else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info) and "sqlState" in info.metadata:
            return info.metadata["sqlState"]
    return None
