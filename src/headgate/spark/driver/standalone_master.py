"""Checks of a standalone cluster's master: that it responds, that it accepts no unauthenticated jobs, and when it is lost."""

import asyncio
from contextlib import suppress
from typing import Final

from headgate.spark.driver.clusters import Cluster

REST_PORT: Final = 6066
"""The port on which a master accepts applications over REST: Spark's default of `spark.master.rest.port`."""
_ANSWER_WITHIN: Final = 5.0
_ANSWER_BYTES: Final = 16_384


class NoMasterError(Exception):
    """No master of the cluster responds."""


async def require_master(cluster: Cluster) -> None:
    """Return if a master accepts connections, or the cluster is not a standalone one. Raises `NoMasterError`.

    Without this check, Spark would try for a minute and then exit without an error message.
    """
    masters = tuple(cluster.masters)
    for host, port in masters:
        with suppress(OSError, TimeoutError):
            _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), _ANSWER_WITHIN)
            writer.close()
            return
    if masters:
        where = " or ".join(f"{host}:{port}" for host, port in masters)
        raise NoMasterError(
            f"no master of the cluster `{cluster.name}` accepts connections at {where}; start the master, or correct its address in the settings"
        )


async def accepts_unauthenticated_jobs(host: str) -> bool:
    """Whether a master runs jobs that are sent to its REST port without a secret, as the OS user of its workers.

    `spark.authenticate` does not cover this interface, and Spark opens it by default.
    """
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_ANSWER_WITHIN):
            return b'"serverSparkVersion"' in await _ask(host, REST_PORT)
    return False


async def _ask(host: str, port: int) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(b"GET /v1/submissions/status/none HTTP/1.0\r\n\r\n")
        answer = b""
        while len(answer) < _ANSWER_BYTES and (piece := await reader.read(_ANSWER_BYTES)):
            answer += piece
        return answer
    finally:
        writer.close()


async def wait_until_lost(cluster: Cluster) -> None:
    """Wait until the only master is lost; a restarted one would not know this driver.

    With several masters Spark itself fails over, so this never returns.
    """
    masters = tuple(cluster.masters)
    if len(masters) != 1:
        await asyncio.Event().wait()
    reader, writer = await asyncio.open_connection(*masters[0])
    try:
        with suppress(ConnectionError):
            await reader.read(1)
    finally:
        writer.close()
