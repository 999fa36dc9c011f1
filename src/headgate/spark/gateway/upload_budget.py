"""The memory that uploads may hold in the gateway, all of them together and those of one principal."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headgate.spark.gateway.errors import ExhaustedError

_TOTAL_BYTES: Final = 1024 * 1024 * 1024
_PRINCIPAL_BYTES: Final = 256 * 1024 * 1024


class UploadBudget:
    """What uploads hold now. Of one event loop."""

    def __init__(self, total: int = _TOTAL_BYTES, per_principal: int = _PRINCIPAL_BYTES) -> None:
        self._total = total
        self._per_principal = per_principal
        self._held = Counter[str]()

    @contextmanager
    def share(self, principal: str) -> Iterator["Share"]:
        """Hold what one upload takes until it gives that back or the block ends."""
        share = Share(self, principal)
        try:
            yield share
        finally:
            share.give()

    def change(self, principal: str, size: int) -> None:
        """Count more bytes, or fewer. Raises `ExhaustedError` if that is too much."""
        held = self._held[principal] + size
        if size > 0 and (held > self._per_principal or self._held.total() + size > self._total):
            raise ExhaustedError("the uploads under way are too large together; wait until one ends and try again")
        self._held[principal] = held
        if not held:
            del self._held[principal]


class Share:
    """What one upload holds."""

    def __init__(self, budget: UploadBudget, principal: str) -> None:
        self._budget = budget
        self._principal = principal
        self._held = 0

    def take(self, size: int) -> None:
        """Hold more bytes. Raises `ExhaustedError` if that is too much."""
        self._budget.change(self._principal, size)
        self._held += size

    def give(self) -> None:
        """Give all of it back."""
        self._budget.change(self._principal, -self._held)
        self._held = 0
