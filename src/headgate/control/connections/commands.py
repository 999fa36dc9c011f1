"""Connections: places outside the lake (folders, databases, HTTP APIs) that a pipeline may read and write."""

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
"""The kinds of documents: the target of a connection, and its encrypted secret."""

SSLMODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
"""The TLS modes of a connection to PostgreSQL, as in libpq."""

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
"""Headers for the transport and encoding of a request and its response. Headgate sets them, not the connection's secret."""
_UNQUOTED = 4
"""The maximum depth of percent-encoding in a path. Deeper encoding is no mistake, so it is refused."""


class JdbcAccessError(Exception):
    """A database cannot be reached through a connection; the message says why."""


@dataclass(frozen=True, slots=True)
class JdbcAccess:
    """The parameters by which Spark connects to a database: a JDBC URL, and the driver's properties with the password."""

    url: str
    properties: Mapping[str, str] = field(repr=False)
    port: int = 0
    addresses: tuple[str, ...] = ()
    """The IP addresses of its host that the egress policy allows."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder on the server's machine."""

    path: str

    def document(self) -> Mapping[str, Any]:
        """Return the stored document. Raises `InvalidError`."""
        if not self.path.startswith("/") or "\0" in self.path:
            raise InvalidError(f"`{self.path}` is not an absolute path; write the folder with a leading `/`")
        return {"kind": "folder", "folder": self.path}


@dataclass(frozen=True, slots=True)
class PostgreSql:
    """A PostgreSQL database. Each part is validated, so that none can add parameters to the JDBC URL."""

    host: str
    port: int
    database: str
    user: str
    sslmode: str = "prefer"

    def document(self) -> Mapping[str, Any]:
        """Return the stored document, without the password. Raises `InvalidError`."""
        if not (_HOST.fullmatch(self.host) or _is_address(self.host)):
            raise InvalidError(f"`{self.host}` is neither a host name nor an IP address; correct the host")
        if not 0 < self.port <= _LAST_PORT:
            raise InvalidError(f"{self.port} is not a port; use a number from 1 to {_LAST_PORT}")
        if not _DATABASE.fullmatch(self.database):
            raise InvalidError(
                "the name of the database is invalid; use 1 to 63 letters, digits and `_`, `.`, `@`, `+`, `-`"
            )
        if not self.user:
            raise InvalidError("the user of the database is missing; add it")
        if not self.user.isprintable():
            raise InvalidError("the user name for the database has characters that cannot be printed; remove them")
        if self.sslmode not in SSLMODES:
            raise InvalidError(f"`{self.sslmode}` is not an sslmode; choose from {', '.join(SSLMODES)}")
        parts = {"host": self.host, "port": self.port, "database": self.database, "user": self.user}
        return {"kind": "postgresql", **parts, "sslmode": self.sslmode}


@dataclass(frozen=True, slots=True)
class Http:
    """An HTTP API: every URL below a base URL."""

    base_url: str

    def document(self) -> Mapping[str, Any]:
        """Return the stored document, without the headers. Raises `InvalidError`."""
        if not _is_base(self.base_url):
            raise InvalidError(
                "the URL of the HTTP API is invalid; write `http://` or `https://`, a host, and optionally a port and a path without `..`"
            )
        return {"kind": "http", "base_url": self.base_url}


ConnectionTarget = Folder | PostgreSql | Http
"""The target of a connection."""


def secret_of(kind: str, password: str | None, headers: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the secret of a connection of a kind; empty if it has none. Raises `InvalidError`."""
    if password is not None and kind != "postgresql":
        raise InvalidError(f"a connection of the kind `{kind}` cannot have a password; leave it out")
    if headers is not None and kind != "http":
        raise InvalidError(f"a connection of the kind `{kind}` cannot have headers; leave them out")
    if password is not None:
        if "\0" in password:
            raise InvalidError("the password has the character U+0000; remove it")
        return {"password": password}
    for name, value in (headers or {}).items():
        _require_header(name, value)
    return dict(headers or {})


def has_way_up(path: str) -> bool:
    """Return whether the path of a URL may lead above its base (path traversal), however often a server unquotes it."""
    for _ in range(_UNQUOTED):
        plain = unquote(path)
        if plain == path:
            # Some servers treat a backslash as a slash, and drop the text after a semicolon in a path segment.
            return any(part.partition(";")[0] == ".." for part in plain.replace("\\", "/").split("/"))
        path = plain
    return True


@dataclass(frozen=True, slots=True)
class CreateConnection:
    """Create a connection; its target is a document. `encrypted` is its secret as the vault has encrypted it."""

    connection: ResourceId
    project: ResourceId
    title: str
    behind: ConnectionTarget
    encrypted: Mapping[str, str] | None = field(default=None, repr=False)
    name: str = "connection.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `project.create_connection`."""
        made = CreateResource(self.connection, "connection", self.project, self.title).decide(view)
        document = DocumentPut(CONNECTION, self.connection, self.behind.document())
        return CommandEffect(made.changes, (document, *_build_secret_document(self.connection, self.encrypted)))


@dataclass(frozen=True, slots=True)
class ChangeSecret:
    """Replace the secret of a connection; runs that connect from now on use the new one."""

    connection: ResourceId
    encrypted: Mapping[str, str] = field(repr=False)
    name: str = "connection.change_secret"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `connection.edit`."""
        view.require_operation(self.name, {"connection": view.target(self.connection, "connection")})
        return CommandEffect((), _build_secret_document(self.connection, self.encrypted))


@dataclass(frozen=True, slots=True)
class DeleteConnection:
    """Delete a connection with its secret; pipelines that declare it can no longer reach its target."""

    connection: ResourceId
    name: str = "connection.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `connection.delete`."""
        view.target(self.connection, "connection")
        gone = tuple(DocumentPut(kind, self.connection, None) for kind in (CONNECTION, SECRET))
        return CommandEffect(DeleteResource(self.connection).decide(view).changes, gone)


def _build_secret_document(connection: ResourceId, encrypted: Mapping[str, str] | None) -> tuple[DocumentPut, ...]:
    return () if encrypted is None else (DocumentPut(SECRET, connection, dict(encrypted)),)


def _require_header(name: str, value: str) -> None:
    if name.lower() in RESERVED_HEADERS:
        raise InvalidError(
            f"the header `{name}` cannot be set, because Headgate sets it for the transport of requests; leave it out"
        )
    if not _HEADER.fullmatch(name):
        raise InvalidError(f"`{name[:100]}` is not a valid name of an HTTP header; correct it")
    if not _VALUE.fullmatch(value) or value != value.strip():
        raise InvalidError(
            f"the value of the header `{name}` is invalid; use at most 8000 ASCII characters on one line, without spaces "
            "around them"
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
