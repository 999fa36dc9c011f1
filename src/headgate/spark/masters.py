"""The master of a standalone cluster: whether one answers, and when the only one is gone."""

import asyncio
from contextlib import suppress

from headgate.spark.clusters import Cluster

_ANSWER_WITHIN = 5.0


class NoMasterError(Exception):
    """No master of a cluster answers."""


async def require_master(cluster: Cluster) -> None:
    """Return if a master can be reached, or the cluster is not a standalone one. Raises `NoMasterError`.

    Spark would try for a minute, and then end without a word to whoever waits.
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
            f"no master of the cluster `{cluster.name}` answers at {where}; start it, or correct where it is"
        )


async def until_lost(cluster: Cluster) -> None:
    """Return when the only master is gone: it would not know this driver again. Never, where Spark turns to another itself."""
    masters = tuple(cluster.masters)
    if len(masters) != 1:
        await asyncio.Event().wait()
    reader, writer = await asyncio.open_connection(*masters[0])
    try:
        with suppress(ConnectionError):
            await reader.read(1)
    finally:
        writer.close()
