"""Memory limits for rows of callers in the gateway: those of one principal, and all of them together.

Rows count with their uploaded size until they are rewritten, and with their rewritten size until the driver has them.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headgate.spark.gateway.errors import ExhaustedError

_TOTAL_BYTES: Final = 1024 * 1024 * 1024
_PRINCIPAL_BYTES: Final = 384 * 1024 * 1024
"""Enough for the largest artifact, before and after it is rewritten."""


class UploadBudget:
    """The bytes that uploads and plans hold now. Bound to one event loop."""

    def __init__(self, total: int = _TOTAL_BYTES, per_principal: int = _PRINCIPAL_BYTES) -> None:
        self._total = total
        self._per_principal = per_principal
        self._held = Counter[str]()

    @contextmanager
    def share(self, principal: str) -> Iterator["Share"]:
        """Yield the share of one call, which is returned to the budget when the block ends."""
        share = Share(self, principal)
        try:
            yield share
        finally:
            share.give()

    def change(self, principal: str, size: int) -> None:
        """Add `size` bytes, which may be negative. Raises `ExhaustedError` if a limit is exceeded."""
        held = self._held[principal] + size
        if size > 0 and held > self._per_principal:
            raise ExhaustedError(
                f"your rows that wait to be sent to Spark are too large together (at most {_mebibytes(self._per_principal)} MiB); "
                "wait until one of your uploads or statements ends, or send fewer rows at once"
            )
        if size > 0 and self._held.total() + size > self._total:
            raise ExhaustedError("the rows that all callers send now are too large together; retry in a few seconds")
        self._held[principal] = held
        if not held:
            del self._held[principal]

    def get_held(self, principal: str) -> int:
        """Return how many bytes the calls of a principal hold."""
        return self._held[principal]


class Share:
    """The bytes that one call holds."""

    def __init__(self, budget: UploadBudget, principal: str) -> None:
        self._budget = budget
        self._principal = principal
        self._held = 0

    def take(self, size: int) -> None:
        """Hold more bytes. Raises `ExhaustedError` if a limit is exceeded."""
        self._budget.change(self._principal, size)
        self._held += size

    def give(self) -> None:
        """Return all bytes to the budget."""
        self._budget.change(self._principal, -self._held)
        self._held = 0


def _mebibytes(size: int) -> int:
    return size // 1024 // 1024
