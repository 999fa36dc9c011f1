"""The ports of drivers: for sessions, for executors, and for the exchange of blocks."""

import itertools
import secrets
import socket
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

_LOOPBACK: Final = "127.0.0.1"
_RANGE: Final = "/proc/sys/net/ipv4/ip_local_port_range"
_FIRST, _LAST = 20_000, 65_535
"""The range of ports to choose from; most services have default ports below it."""
_SESSION_PORTS: Final = 64
"""More than the drivers that fit into one machine's memory, with spare ones for ports that other programs use."""


class NoPortError(Exception):
    """No port for a driver is free; the message says what to do."""


@dataclass(frozen=True, slots=True)
class DriverPorts:
    """The ports of one JVM."""

    connect: int
    driver: int
    blocks: int

    @property
    def all(self) -> tuple[int, ...]:
        """All three ports."""
        return self.connect, self.driver, self.blocks


class SessionPorts:
    """The pool of session ports of drivers, chosen once: the gateway's sandbox cannot be extended after its start.

    A port is not assigned again while its driver runs. The sandbox of that driver allows it to listen on the port, so it
    could listen there before the next driver and receive that driver's requests.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_use = set[int]()

    @cached_property
    def _chosen(self) -> tuple[int, ...]:
        return _free_ports(_SESSION_PORTS + 1)

    @property
    def gateway(self) -> int:
        """The inner port of the gateway on loopback, which no driver receives. Raises `NoPortError`."""
        return self._chosen[0]

    @property
    def all(self) -> tuple[int, ...]:
        """All session ports of drivers. Raises `NoPortError`."""
        return self._chosen[1:]

    @cached_property
    def _order(self) -> Iterator[int]:
        return itertools.cycle(self.all)

    def take(self) -> DriverPorts:
        """Assign ports to a driver that is about to start; session ports rotate. Raises `NoPortError`."""
        with self._lock:
            ports = DriverPorts(self._session_port(), *_free_ports(2, {*self._chosen, *self._in_use}))
            self._in_use.update(ports.all)
            return ports

    def release(self, ports: DriverPorts) -> None:
        """Release the ports of a driver whose process has ended."""
        with self._lock:
            self._in_use.difference_update(ports.all)

    def _session_port(self) -> int:
        for port in itertools.islice(self._order, len(self.all)):
            if port not in self._in_use and is_free(_LOOPBACK, port):
                return port
        raise NoPortError(
            f"all {len(self.all)} ports for Spark drivers are in use; stop other programs that listen on ports of `{_LOOPBACK}`"
        )


def _free_ports(count: int, without: Collection[int] = ()) -> tuple[int, ...]:
    """Return free ports outside the ephemeral range: another program could get an ephemeral port first. Raises `NoPortError`."""
    lowest, highest = _read_ephemeral_range()
    wanted = [port for port in range(_FIRST, _LAST) if not lowest <= port <= highest and port not in without]
    found = tuple(itertools.islice((port for port in _draw(wanted) if is_free(_LOOPBACK, port)), count))
    if len(found) < count:
        raise NoPortError(
            f"fewer than {count} ports from {_FIRST} to {_LAST} are free for Spark drivers outside {lowest} to {highest}, the range of outgoing "
            f"connections; stop other programs that listen on ports of `{_LOOPBACK}`, or narrow the range in `{_RANGE}`"
        )
    return found


def _draw(ports: list[int]) -> Iterator[int]:
    """Yield the ports in random order, and remove each from the list: shuffling them all would take half a second."""
    while ports:
        at = secrets.randbelow(len(ports))
        ports[at], ports[-1] = ports[-1], ports[at]
        yield ports.pop()


def _read_ephemeral_range() -> tuple[int, int]:
    """Return the first and last ephemeral port of the system; zeros if the range is unknown."""
    try:
        lowest, highest = Path(_RANGE).read_text(encoding="ascii").split()
    except OSError:
        return 0, 0
    return int(lowest), int(highest)


def is_free(host: str, port: int) -> bool:
    """Whether a server can listen on the port of this local address."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        # As servers do: a port whose last connections are in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
