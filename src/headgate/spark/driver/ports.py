"""The ports of drivers: for sessions, for executors, and for the blocks that they exchange."""

import itertools
import random
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
"""Below the ports that services have by default."""
_SESSION_PORTS: Final = 64
"""More drivers than one machine has the memory for, with room for ports that others have taken."""


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
        """All of them."""
        return self.connect, self.driver, self.blocks


class SessionPorts:
    """The ports at which drivers take sessions, chosen once: the gateway's sandbox can be given no more after its start.

    No port is given out while the driver that has it runs. That driver's sandbox lets it listen there, so it could be
    there before the next one and receive what is sent to that one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_use = set[int]()

    @cached_property
    def _chosen(self) -> tuple[int, ...]:
        return _free_ports(_SESSION_PORTS + 1)

    @property
    def gateway(self) -> int:
        """The port of the gateway on loopback, which no driver is given. Raises `NoPortError`."""
        return self._chosen[0]

    @property
    def all(self) -> tuple[int, ...]:
        """All of the drivers'. Raises `NoPortError`."""
        return self._chosen[1:]

    @cached_property
    def _order(self) -> Iterator[int]:
        return itertools.cycle(self.all)

    def take(self) -> DriverPorts:
        """Return the ports of a driver that is about to start, each time other ones. Raises `NoPortError`."""
        with self._lock:
            ports = DriverPorts(self._session_port(), *_free_ports(2, {*self._chosen, *self._in_use}))
            self._in_use.update(ports.all)
            return ports

    def release(self, ports: DriverPorts) -> None:
        """Give back the ports of a driver whose process is gone."""
        with self._lock:
            self._in_use.difference_update(ports.all)

    def _session_port(self) -> int:
        for port in itertools.islice(self._order, len(self.all)):
            if port not in self._in_use and is_free(_LOOPBACK, port):
                return port
        raise NoPortError(
            f"all {len(self.all)} ports for Spark drivers are in use; end programs that listen on loopback"
        )


def _free_ports(count: int, without: Collection[int] = ()) -> tuple[int, ...]:
    """Return free ports that no program is given by chance: it could be there before the driver. Raises `NoPortError`."""
    lowest, highest = _read_ephemeral_range()
    wanted = [port for port in range(_FIRST, _LAST) if not lowest <= port <= highest and port not in without]
    random.SystemRandom().shuffle(wanted)
    found = tuple(itertools.islice((port for port in wanted if is_free(_LOOPBACK, port)), count))
    if len(found) < count:
        raise NoPortError(f"no port from {_FIRST} to {_LAST} outside {lowest} to {highest} is free; narrow {_RANGE}")
    return found


def _read_ephemeral_range() -> tuple[int, int]:
    """Return the first and last port that the system gives to programs that ask for any; nothing where that is not known."""
    try:
        lowest, highest = Path(_RANGE).read_text(encoding="ascii").split()
    except OSError:
        return 0, 0
    return int(lowest), int(highest)


def is_free(host: str, port: int) -> bool:
    """Return whether a server can listen on a port of an address of this machine."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        # As servers do: a port whose last connections are being forgotten is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
