"""Metasync: registers a table's newest metadata file in another Iceberg catalog, by its REST API."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, Final
from urllib.parse import quote

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from headgate.pipelines.connections.http_answers import AnswerBounds, AnswerError, BrokenAnswerError, HttpReader
from headgate.pipelines.connections.targets import HttpPlace
from headgate.pipelines.load_errors import LoadError
from headgate.untrusted_input.errors import UntrustedInputError
from headgate.untrusted_input.json_documents import read_json

_BOUNDS: Final = AnswerBounds(size=1 << 20, silence=30.0, whole=120.0)


class SyncError(Exception):
    """The other catalog did not register the table; the message has its response."""


class _Settings(BaseModel):
    """The only setting that is used from a catalog's configuration: the prefix of its paths."""

    prefix: Annotated[str, StringConstraints(max_length=1000, pattern=r"^\P{C}*$")] | None = None
    """The prefix, without control characters and lone surrogates, which no address can have."""


class _Configuration(BaseModel):
    """The configuration of a catalog, by the Iceberg REST specification."""

    defaults: _Settings = Field(default_factory=_Settings)
    overrides: _Settings = Field(default_factory=_Settings)

    @property
    def prefix(self) -> str:
        """The prefix: that of the overrides, if they have one."""
        said = self.defaults.prefix if self.overrides.prefix is None else self.overrides.prefix
        return (said or "").strip("/")


def register_external_table(place: HttpPlace, into: str, metadata: str, has_to_end: Callable[[], bool]) -> None:
    """Register a metadata file in the other catalog as the table `into` (`database.table`).

    Raises `SyncError`, and `EndedError` if the run has to end.
    """
    database, table = into.split(".")
    with HttpReader(place, has_to_end, _BOUNDS) as http:
        try:
            _Other(http, place.base_url.rstrip("/")).register(database, table, metadata)
        except BrokenAnswerError as error:
            raise SyncError(
                f"the newest state of the table was not registered as `{into}` in the catalog of the connection: {error}; run the pipeline again later"
            ) from error
        except (AnswerError, LoadError) as error:
            raise SyncError(
                f"the newest state of the table was not registered as `{into}` in the catalog of the connection: {error}"
            ) from error


class _Other:
    """A client of the other catalog, by the Iceberg REST specification. Redirects are not followed."""

    def __init__(self, http: HttpReader, base: str) -> None:
        self._http = http
        self._base = base

    def register(self, database: str, table: str, metadata: str) -> None:
        """Create the database if it is missing, and create or replace the table. Raises as `HttpReader.get` does."""
        root = self._root()
        self._send("POST", f"{root}/namespaces", {"namespace": [database], "properties": {}}, HTTPStatus.CONFLICT)
        place = f"{root}/namespaces/{quote(database, safe='')}"
        found = self._send("GET", f"{place}/tables/{quote(table, safe='')}", None, HTTPStatus.NOT_FOUND)
        wanted = {"name": table, "metadata-location": metadata, "overwrite": found != HTTPStatus.NOT_FOUND}
        self._send("POST", f"{place}/register", wanted)

    def _root(self) -> str:
        answer = self._http.get(f"{self._base}/v1/config")
        _require(answer.status)
        prefix = _configuration(answer.body).prefix
        return f"{self._base}/v1/{quote(prefix)}" if prefix else f"{self._base}/v1"

    def _send(self, method: str, address: str, body: Any = None, also: HTTPStatus | None = None) -> int:
        status = self._http.send(method, address, body)
        if status != also:
            _require(status)
        return status


def _require(status: int) -> None:
    if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        raise AnswerError(
            f"the other catalog responded with the status {status}; check the address and the secret of the connection"
        )


def _configuration(body: bytes | bytearray) -> _Configuration:
    try:
        return _Configuration.model_validate(read_json(body))
    except UntrustedInputError as error:
        raise AnswerError(
            f"the configuration that the other catalog returned cannot be read ({error}); check the address "
            "of the connection"
        ) from None
    except ValidationError:
        raise AnswerError(
            "the configuration that the other catalog returned does not follow the Iceberg REST "
            "specification; check the address of the connection"
        ) from None
