"""What the connections of one organization may reach, decided with the addresses that a name has now."""

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from headgate.control.egress import Address, EgressRules, plain_address
from headgate.control.egress.ip_addresses import parse_address
from headgate.pipelines.connections.server_files import ServerFiles

Resolve = Callable[[str, int], Sequence[Address]]
"""Returns the addresses of a host now. Raises `OSError`."""
DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


class EgressError(Exception):
    """What is behind a connection is not what the operator allows its organization; the message says which."""


@dataclass(frozen=True, slots=True)
class StoreServer:
    """Where the server of the store listens: hosts with their ports. It is closed to connections, whatever is listed."""

    listens: Sequence[tuple[str, int]] = ()
    """Host and port; an empty host is a socket of this machine."""

    def is_at(self, address: Address, port: int, resolve: Resolve) -> bool:
        """Return whether the store's server may be what answers there. Raises `OSError` if its own name has no address."""
        return any(self._is_same(host, address, resolve) for host, own in self.listens if own == port)

    def _is_same(self, host: str, address: Address, resolve: Resolve) -> bool:
        addresses = resolve(host, 0) if host else (ip_address("127.0.0.1"),)
        known = {plain_address(each) for each in addresses}
        return address in known or (is_own(address) and any(map(is_own, known)))


@dataclass(frozen=True, slots=True)
class AllowedFolder:
    """A folder that may be connected: below a root that the operator lists."""

    root: Path
    below: PurePosixPath = field(default_factory=PurePosixPath)
    server_files: ServerFiles = field(default_factory=ServerFiles)

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.root / self.below


def resolve_host(host: str, port: int) -> Sequence[Address]:
    """Return the addresses of a host, as the machine resolves it. Raises `OSError`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"`{host}` is no name that can be resolved") from error
    return tuple(dict.fromkeys(plain_address(ip_address(str(each[4][0]).partition("%")[0])) for each in found))


def is_own(address: Address) -> bool:
    """Return whether an address is one of this machine: whether a socket can be bound to it."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 (the version of IP)
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as found:
            found.bind((str(address), 0))
    except OSError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Egress:
    """Decides about one organization's connections: when they are made, when a pipeline is saved, and at each connect."""

    rules: EgressRules = field(default_factory=EgressRules)
    server_files: ServerFiles = field(default_factory=ServerFiles)
    store: StoreServer = field(default_factory=StoreServer)
    resolve: Resolve = resolve_host

    def fault(self, behind: Mapping[str, Any]) -> str | None:
        """Return why the place of a connection's document may not be connected, or None. A name without an address may."""
        try:
            match behind["kind"]:
                case "folder":
                    self.folder(str(behind["folder"]))
                case "postgresql":
                    self._find(str(behind["host"]), int(behind["port"]))
                case _:
                    self._find(*host_and_port(str(behind["base_url"])))
        except EgressError as error:
            return str(error)
        except OSError:
            return None
        return None

    def folder(self, path: str) -> AllowedFolder:
        """Return a folder with the root that allows it. Raises `EgressError`."""
        folder = PurePosixPath(path)
        root = self.rules.root(folder)
        if root is None:
            raise EgressError(self.rules.folder_refusal(folder))
        if self.server_files.is_own(Path(folder)):
            raise EgressError(f"the folder `{folder}` is one of the server's own; connect another one")
        return AllowedFolder(Path(root), folder.relative_to(root), self.server_files)

    def addresses(self, host: str, port: int) -> tuple[Address, ...]:
        """Return the addresses at which a host may be connected now. Raises `EgressError`, or `OSError` if it has none."""
        found = self._find(host, port)
        if not found:
            raise OSError(f"`{host}` has no address")
        return found

    def _find(self, host: str, port: int) -> tuple[Address, ...]:
        fault = self.rules.host_fault(host, port)
        if fault is not None:
            raise EgressError(fault)
        written = parse_address(host)
        resolved = (written,) if written is not None else self.resolve(host, port)
        allowed = self.rules.select_allowed(resolved, host, port)
        if not allowed:
            raise EgressError(self.rules.address_refusal(host, port))
        if any(self.store.is_at(each, port, self.resolve) for each in allowed):
            raise EgressError(f"port {port} of `{host}` is Headgate's own store; connect another database")
        return allowed


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host and the port of an `http` or `https` URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
