"""Egress control: the folders and hosts that the connections of one organization may reach, by their present addresses."""

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
"""Returns the present addresses of a host. Raises `OSError`."""
DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


class EgressError(Exception):
    """The operator does not allow the organization to reach the target of a connection; the message names the target."""


@dataclass(frozen=True, slots=True)
class StoreServer:
    """The hosts and ports of the database server of Headgate's own store. No connection reaches them, even if allowed."""

    listens: Sequence[tuple[str, int]] = ()
    """Host and port; an empty host means a socket of this machine."""

    def is_at(self, address: Address, port: int, resolve: Resolve) -> bool:
        """Whether the store's server may listen at an address and port. Raises `OSError` if its own name has no address."""
        return any(self._is_same(host, address, resolve) for host, own in self.listens if own == port)

    def _is_same(self, host: str, address: Address, resolve: Resolve) -> bool:
        addresses = resolve(host, 0) if host else (ip_address("127.0.0.1"),)
        known = {plain_address(each) for each in addresses}
        return address in known or (is_own(address) and any(map(is_own, known)))


@dataclass(frozen=True, slots=True)
class AllowedFolder:
    """A folder that a connection may use: it is below a root that the operator lists."""

    root: Path
    below: PurePosixPath = field(default_factory=PurePosixPath)
    server_files: ServerFiles = field(default_factory=ServerFiles)

    @property
    def path(self) -> Path:
        """The path of the folder."""
        return self.root / self.below


def resolve_host(host: str, port: int) -> Sequence[Address]:
    """Return the addresses of a host, by the resolver of this machine. Raises `OSError`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"`{host}` is not a valid host name; correct the host of the connection") from error
    return tuple(dict.fromkeys(plain_address(ip_address(str(each[4][0]).partition("%")[0])) for each in found))


def is_own(address: Address) -> bool:
    """Whether an address belongs to this machine: a socket can be bound to it."""
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
    """Decides on one organization's connections: when one is created, when a pipeline is saved, and at each connect."""

    rules: EgressRules = field(default_factory=EgressRules)
    server_files: ServerFiles = field(default_factory=ServerFiles)
    store: StoreServer = field(default_factory=StoreServer)
    resolve: Resolve = resolve_host

    def fault(self, behind: Mapping[str, Any]) -> str | None:
        """Return why the target of a connection's document is refused, or None. A name that does not resolve is allowed."""
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
        """Return a folder with the listed root that allows it. Raises `EgressError`."""
        folder = PurePosixPath(path)
        root = self.rules.root(folder)
        if root is None:
            raise EgressError(self.rules.folder_refusal(folder))
        if self.server_files.is_own(Path(folder)):
            raise EgressError(f"the folder `{folder}` belongs to the server itself; choose another folder")
        return AllowedFolder(Path(root), folder.relative_to(root), self.server_files)

    def addresses(self, host: str, port: int) -> tuple[Address, ...]:
        """Return the allowed addresses of a host now. Raises `EgressError`, or `OSError` if the host has no address."""
        found = self._find(host, port)
        if not found:
            raise OSError(
                f"the host `{host}` has no address; correct the host of the connection, or check the DNS of the server"
            )
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
            raise EgressError(
                f"port {port} of `{host}` is the database of Headgate's own store; choose another database"
            )
        return allowed


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host and the port of an `http` or `https` URL; an empty host and port 0 if it has none."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
