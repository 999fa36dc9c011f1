"""How often somebody may try: counted in the memory of this process, per name or address."""

import threading
from collections import OrderedDict, deque
from ipaddress import IPv6Address, ip_address

from headgate.control.authentication.errors import TooOftenError
from headgate.control.authentication.settings import AttemptLimit

_MOST_KEYS = 100_000
_NETWORK = 64
"""Bits of an IPv6 address that tell one customer from another; the rest is theirs to choose."""


class AttemptLimiter:
    """Attempts by key. Each is counted before it is made, so that many at once are no way around it."""

    def __init__(self, limit: AttemptLimit) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()

    def record(self, key: str, now: float) -> None:
        """Count an attempt at a time (seconds). Raises `TooOftenError`, and counts nothing, if there were too many."""
        with self._lock:
            tries = self._tries.setdefault(key, deque())
            self._tries.move_to_end(key)
            while tries and tries[0] <= now - self._limit.seconds:
                tries.popleft()
            if len(tries) >= self._limit.attempts:
                raise TooOftenError(tries[0] + self._limit.seconds - now)
            tries.append(now)
            if len(self._tries) > _MOST_KEYS:
                self._tries.popitem(last=False)

    def undo(self, key: str) -> None:
        """Take the newest attempt back: it was not a wrong one."""
        with self._lock:
            if tries := self._tries.get(key):
                tries.pop()

    def forget(self, key: str) -> None:
        """Take every attempt back."""
        with self._lock:
            self._tries.pop(key, None)


def client_key(address: str) -> str:
    """Return what is counted of a network address: all of IPv4, the network of IPv6."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    return str(int(found) >> _NETWORK) if isinstance(found, IPv6Address) else address
