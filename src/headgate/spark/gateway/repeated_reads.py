"""Reads of settings that clients repeat with every result: answered by the gateway while no setting can have changed."""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

_READ_WITH_EVERY_RESULT: Final = frozenset({"spark.sql.execution.pyspark.binaryAsBytes"})
"""The settings that PySpark reads with every result. They say how the client shows rows, and decide nothing."""
_READS: Final = ("get", "get_with_default")
_MAY_SET: Final = re.compile(rb"reset|immediate|set(?![a-z0-9_])|\xc5\xbf|\xc4\xb1", re.IGNORECASE)
"""Bytes of every statement that changes a setting. `EXECUTE IMMEDIATE` composes the text of its statement.

Spark's parser also reads two other letters as S and I.
"""
_SEARCHED: Final = 64 * 1024
"""The bytes of the largest statement that is searched; a larger one may change a setting."""


class RepeatedReads:
    """The driver's responses in one session.

    A session that has sent a statement which may change a setting keeps none: it is not known when such a statement has ended.
    """

    def __init__(self) -> None:
        self._responses: dict[bytes, bytes] = {}
        self._changes = 0
        self._may_change = False

    async def answer(self, request: Any, send: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the response to a request about settings: the kept one, or that of the driver, to which `send` sends it."""
        if request.operation.WhichOneof("op_type") not in _READS:
            return await self._change(send)
        asked, changes = request.operation.SerializeToString(), self._changes
        kept = self._responses.get(asked)
        if kept is not None:
            return kept
        response = await send()
        if (
            changes == self._changes
            and not self._may_change
            and _READ_WITH_EVERY_RESULT.issuperset(_list_keys(request))
        ):
            self._responses[asked] = response
        return response

    def note_statement(self, statement: bytes) -> None:
        """Keep nothing from now on, if a statement with these bytes may change a setting."""
        if not self._may_change and (len(statement) > _SEARCHED or _MAY_SET.search(statement)):
            self._may_change = True
            self._forget()

    async def _change(self, send: Callable[[], Awaitable[bytes]]) -> bytes:
        self._forget()
        try:
            return await send()
        except BaseException:
            self._may_change = True  # the driver may still carry out the request
            raise
        finally:
            self._forget()

    def _forget(self) -> None:
        self._responses.clear()
        self._changes += 1


def _list_keys(request: Any) -> list[str]:
    operation = request.operation
    if operation.HasField("get"):
        return list(operation.get.keys)
    return [pair.key for pair in operation.get_with_default.pairs]
