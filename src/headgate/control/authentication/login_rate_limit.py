"""Rate limit of login attempts, counted in the memory of this process, per login name or network address."""

import threading
from collections import OrderedDict, deque
from ipaddress import IPv6Address, ip_address

from headgate.control.authentication.errors import TooOftenError
from headgate.control.authentication.settings import AttemptLimit

_MOST_KEYS = 100_000
_NETWORK = 64
"""The prefix length of an IPv6 network: one customer can choose all other bits of the address."""


class AttemptLimiter:
    """Counts attempts by key. Each is counted before it is made, so that concurrent attempts cannot exceed the limit."""

    def __init__(self, limit: AttemptLimit) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()

    def record(self, key: str, now: float) -> None:
        """Count an attempt at a time (seconds). Raises `TooOftenError`, and does not count it, if the limit is exceeded."""
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
        """Remove the newest attempt from the count, because it did not fail."""
        with self._lock:
            if tries := self._tries.get(key):
                tries.pop()

    def forget(self, key: str) -> None:
        """Remove every attempt of a key from the count."""
        with self._lock:
            self._tries.pop(key, None)


def client_key(address: str) -> str:
    """Return the key of a network address: the whole IPv4 address, or the network of an IPv6 address."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    return str(int(found) >> _NETWORK) if isinstance(found, IPv6Address) else address
