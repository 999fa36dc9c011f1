"""Whether a driver that runs still answers: it may be stuck, in collections of garbage for example, and not end by itself."""

import asyncio
import uuid
from contextlib import suppress
from typing import Final

import grpc.aio
from pyspark.sql.connect.proto import ConfigRequest
from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

_PAUSE: Final = 2.0
"""Seconds between an answer and the next question, and between a failure and the next try."""
_PART: Final = 3.0
_PARTS: Final = 5
"""How many parts of so many seconds an answer may take; one that takes less than one part is not late."""
_LATE_TIMES: Final = 4
"""How many times as long all answers may be late: a driver whose heap is full may answer each question in ten seconds."""
_MIB_FOR_A_PART: Final = 4096
"""A heap of so many MiB has one part more: one honest collection of a large heap takes longer."""


class Liveness:
    """Asks one start of a driver for a setting, in a session of its own, again and again."""

    def __init__(self, address: str, token: str, heap_mib: int) -> None:
        """`address` is that of its Connect server, which answers who presents the token."""
        self._address = address
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._parts = _PARTS + heap_mib // _MIB_FOR_A_PART
        self._question = ConfigRequest(session_id=str(uuid.uuid4()))
        self._question.user_context.user_id = "headgate-liveness"
        self._question.operation.get.keys.append("spark.sql.session.timeZone")
        self.is_answering = True
        """Whether the latest answer was not late, and the next one is not yet."""

    async def wait_until_stuck(self) -> str:
        """Return why the driver counts as stuck, once it does: it does not answer, or has long answered late only."""
        late = 0
        while True:
            parts = await self._late_parts()
            late = late + parts if parts else 0
            if parts == self._parts:
                return f"has not answered for {parts * _PART:.0f} s"
            if late >= _LATE_TIMES * self._parts:
                return f"has kept each question waiting, for {late * _PART:.0f} s together"
            await asyncio.sleep(_PAUSE)

    async def _late_parts(self) -> int:
        """Ask, and return how many parts passed before the answer.

        If this machine sleeps, or this process does, that counts as one part at most.
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
        """Return once the driver has answered. The channel is a new one each time, so that none waits to connect again."""
        while True:
            with suppress(grpc.aio.AioRpcError):
                async with grpc.aio.insecure_channel(self._address) as channel:
                    await SparkConnectServiceStub(channel).Config(self._question, metadata=self._metadata)
                return
            await asyncio.sleep(_PAUSE)
