"""Canaries: files that no mutant may open, folders that none may list, and a port that none may connect to."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import pytest

from tests.bypass.opened_files import Opening
from tests.conftest import IN_CI


class Canaries:
    """Watches files and folders, each under a name, and a port of the loopback interface."""

    def __init__(self, places: Mapping[Path, str]) -> None:
        """Start to watch. Raises `OSError` if the system has no inotify."""
        self._opening = Opening(places, listings=True)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._connections = 0
        """The number of connections.

        The accepting thread counts them and never resets the count, so that none is missed.
        """
        self._seen = 0
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The number of the port."""
        return int(self._server.getsockname()[1])

    def __enter__(self) -> Self:
        """Return the object, which watches since its creation."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._server.close()
        self._opening.__exit__()

    def touched(self) -> frozenset[str]:
        """Return the names of the canaries touched since the last call."""
        before, self._seen = self._seen, self._connections
        return self._opening.seen() | (frozenset({"the port"}) if self._seen > before else frozenset())

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                self._connections += 1
                client.close()


@contextmanager
def watched(places: Mapping[Path, str]) -> Iterator[Canaries]:
    """Watch until the block ends. Without inotify the test is skipped; in CI it fails."""
    try:
        canaries = Canaries(places)
    except OSError as error:
        if IN_CI:
            raise
        pytest.skip(str(error))
    with canaries:
        yield canaries
