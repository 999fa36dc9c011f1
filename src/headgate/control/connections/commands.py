"""Connections: places outside the lake that a pipeline may read and write."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ports import DocumentPut
from headgate.control.resources.commands import CreateResource, DeleteResource
from headgate.facts.ids import ResourceId

CONNECTION, SECRET = "connection", "connection_secret"
"""The kinds of documents: what is behind a connection, and its encrypted secret."""

SSLMODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
"""How a connection to PostgreSQL is protected, as libpq has it."""

_HOST = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
_DATABASE = re.compile(r"[\w.@+-]{1,63}")
_LAST_PORT = 65535
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[\x20-\x7e\t]{0,8000}")
RESERVED_HEADERS = frozenset(
    {
        "host", "content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive", "upgrade",
        "http2-settings", "te", "trailer", "expect", "accept-encoding", "proxy-authenticate", "proxy-authorization",
        "proxy-connection",
    }
)  # fmt: skip
"""Headers that say how a request is sent and its answer packed. Headgate decides that, not the connection's secret."""
_UNQUOTED = 4
"""How often a path may be quoted. More is not written by mistake."""


class JdbcAccessError(Exception):
    """A database cannot be entered through a connection, and the message says why."""


@dataclass(frozen=True, slots=True)
class JdbcAccess:
    """How Spark enters a database: a JDBC URL, and the driver's properties, the password among them."""

    url: str
    properties: Mapping[str, str] = field(repr=False)
    port: int = 0
    addresses: tuple[str, ...] = ()
    """Those of its host that were decided on, in numbers."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the server's machine."""

    path: str

    def document(self) -> Mapping[str, Any]:
        """Return what is kept. Raises `InvalidError`."""
        if not self.path.startswith("/") or "\0" in self.path:
            raise InvalidError(f"`{self.path}` is not an absolute path of a folder")
        return {"kind": "folder", "folder": self.path}


@dataclass(frozen=True, slots=True)
class PostgreSql:
    """A PostgreSQL database. Its parts are plain words, so that none of them can say more than where it is."""

    host: str
    port: int
    database: str
    user: str
    sslmode: str = "prefer"

    def document(self) -> Mapping[str, Any]:
        """Return what is kept: the password is not in it. Raises `InvalidError`."""
        if not (_HOST.fullmatch(self.host) or _is_address(self.host)):
            raise InvalidError(f"`{self.host}` is neither the name of a host nor an address")
        if not 0 < self.port <= _LAST_PORT:
            raise InvalidError(f"{self.port} is not a port")
        if not _DATABASE.fullmatch(self.database):
            raise InvalidError("the name of a database is made of letters, digits and `_`, `.`, `@`, `+`, `-`")
        if not self.user or not self.user.isprintable():
            raise InvalidError("a database is entered as a user of it")
        if self.sslmode not in SSLMODES:
            raise InvalidError(f"`{self.sslmode}` is not an sslmode; there are {', '.join(SSLMODES)}")
        parts = {"host": self.host, "port": self.port, "database": self.database, "user": self.user}
        return {"kind": "postgresql", **parts, "sslmode": self.sslmode}


@dataclass(frozen=True, slots=True)
class Http:
    """An HTTP API: what lies below an address."""

    base_url: str

    def document(self) -> Mapping[str, Any]:
        """Return what is kept: the headers are not in it. Raises `InvalidError`."""
        if not _is_base(self.base_url):
            raise InvalidError("the address of an HTTP API is http:// or https://, a host, and a path at most")
        return {"kind": "http", "base_url": self.base_url}


ConnectionTarget = Folder | PostgreSql | Http
"""What can be behind a connection."""


def secret_of(kind: str, password: str | None, headers: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the secret of a connection of a kind; empty for one that has none. Raises `InvalidError`."""
    if password is not None and kind != "postgresql":
        raise InvalidError(f"a connection of the kind `{kind}` has no password")
    if headers is not None and kind != "http":
        raise InvalidError(f"a connection of the kind `{kind}` has no headers")
    if password is not None:
        if "\0" in password:
            raise InvalidError("a password has no character 0")
        return {"password": password}
    for name, value in (headers or {}).items():
        _require_header(name, value)
    return dict(headers or {})


def has_way_up(path: str) -> bool:
    """Return whether the path of a URL may lead above where it begins, however often a server unquotes it."""
    for _ in range(_UNQUOTED):
        plain = unquote(path)
        if plain == path:
            # Some servers take a backslash for a slash, and drop what follows a semicolon in a part.
            return any(part.partition(";")[0] == ".." for part in plain.replace("\\", "/").split("/"))
        path = plain
    return True


@dataclass(frozen=True, slots=True)
class CreateConnection:
    """A declared place, which stands in the connection's document. `encrypted` is its secret, as the vault keeps it."""

    connection: ResourceId
    project: ResourceId
    title: str
    behind: ConnectionTarget
    encrypted: Mapping[str, str] | None = field(default=None, repr=False)
    name: str = "connection.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `project.create_connection`."""
        made = CreateResource(self.connection, "connection", self.project, self.title).decide(view)
        document = DocumentPut(CONNECTION, self.connection, self.behind.document())
        return CommandEffect(made.changes, (document, *_build_secret_document(self.connection, self.encrypted)))


@dataclass(frozen=True, slots=True)
class ChangeSecret:
    """Another secret for a connection; runs that begin to use it from now on use that."""

    connection: ResourceId
    encrypted: Mapping[str, str] = field(repr=False)
    name: str = "connection.change_secret"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `connection.edit`."""
        view.target(self.connection, "connection")
        view.require_action("connection.edit", self.connection)
        return CommandEffect((), _build_secret_document(self.connection, self.encrypted))


@dataclass(frozen=True, slots=True)
class DeleteConnection:
    """The connection goes with its secret; pipelines that declare it can no longer reach what was behind it."""

    connection: ResourceId
    name: str = "connection.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `connection.delete`."""
        view.target(self.connection, "connection")
        gone = tuple(DocumentPut(kind, self.connection, None) for kind in (CONNECTION, SECRET))
        return CommandEffect(DeleteResource(self.connection).decide(view).changes, gone)


def _build_secret_document(connection: ResourceId, encrypted: Mapping[str, str] | None) -> tuple[DocumentPut, ...]:
    return () if encrypted is None else (DocumentPut(SECRET, connection, dict(encrypted)),)


def _require_header(name: str, value: str) -> None:
    if name.lower() in RESERVED_HEADERS:
        raise InvalidError(f"the header `{name}` says how a request is sent, which Headgate decides; leave it out")
    if not _HEADER.fullmatch(name) or not _VALUE.fullmatch(value) or value != value.strip():
        raise InvalidError(
            f"the header `{name[:100]}` cannot be sent; its value is plain text of one line, without spaces around it"
        )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host


def _is_base(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port_fits = parts.port is None or 0 < parts.port <= _LAST_PORT
    except ValueError:
        return False
    host = parts.hostname or ""
    plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    return (
        plain
        and port_fits
        and parts.scheme in ("http", "https")
        and bool(_HOST.fullmatch(host) or _is_address(host))
        and parts.username is None
        and not (parts.query or parts.fragment or url.endswith(("?", "#")))
        and not has_way_up(parts.path)
    )
