"""Liveness checks of a running driver: it may hang, for example in garbage collection, and not exit by itself."""

import asyncio
import uuid
from contextlib import suppress
from typing import Final

import grpc.aio
from pyspark.sql.connect.proto import ConfigRequest
from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

_PAUSE: Final = 2.0
"""Seconds between a response and the next check, and between a failure and the next attempt."""
_PART: Final = 3.0
_PARTS: Final = 5
"""The number of parts, each of `_PART` seconds, that a response may take. It is late if it takes more than one part."""
_LATE_TIMES: Final = 4
"""The factor for successive late responses together: a driver with a full heap may respond to each check in ten seconds."""
_MIB_FOR_A_PART: Final = 4096
"""Heap size in MiB that adds one part: a normal garbage collection of a large heap takes longer."""


class Liveness:
    """Checks one start of a driver repeatedly: reads a setting in a separate session."""

    def __init__(self, address: str, token: str, heap_mib: int) -> None:
        """`address` is that of its Connect server, `token` the one that the server requires."""
        self._address = address
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._parts = _PARTS + heap_mib // _MIB_FOR_A_PART
        self._question = ConfigRequest(session_id=str(uuid.uuid4()))
        self._question.user_context.user_id = "headgate-liveness"
        self._question.operation.get.keys.append("spark.sql.session.timeZone")
        self.is_answering = True
        """Whether the last response was in time and the current check is not late yet."""

    async def wait_until_stuck(self) -> str:
        """Wait until the driver hangs, and return why: it does not respond, or only late for a long time."""
        late = 0
        while True:
            parts = await self._late_parts()
            late = late + parts if parts else 0
            if parts == self._parts:
                return f"has not responded for {parts * _PART:.0f} s"
            if late >= _LATE_TIMES * self._parts:
                return f"has responded only late, by {late * _PART:.0f} s in total"
            await asyncio.sleep(_PAUSE)

    async def _late_parts(self) -> int:
        """Check once, and return how many parts passed before the response.

        Time in which this machine or process is suspended counts as one part at most.
        """
        asking = asyncio.ensure_future(self._ask())
        try:
            for part in range(self._parts):
                await asyncio.wait({asking}, timeout=_PART)
                self.is_answering = asking.done() and part == 0
                if asking.done():
                    asking.result()
                    return part
            return self._parts
        finally:
            asking.cancel()

    async def _ask(self) -> None:
        """Return once the driver has responded. Each attempt uses a new channel, so that no reconnect delay adds to the time."""
        while True:
            with suppress(grpc.aio.AioRpcError):
                async with grpc.aio.insecure_channel(self._address) as channel:
                    await SparkConnectServiceStub(channel).Config(self._question, metadata=self._metadata)
                return
            await asyncio.sleep(_PAUSE)
