"""Telling another Iceberg catalog, a REST API, where a table's newest metadata lies."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import httpx

from headgate.control.error_text import visible_words
from headgate.pipelines.pinned_http import PinnedTransport
from headgate.pipelines.place import HttpPlace

_PATIENCE: Final = 30.0
_LARGEST: Final = 1 << 20
"""Bytes of an answer that are read at most."""


class SyncError(Exception):
    """The other catalog did not take the table; the message says what it answered."""


def register(place: HttpPlace, into: str, metadata: str) -> None:
    """Make a table of the other catalog, called `database.table` there, that of this metadata file. Raises `SyncError`."""
    database, table = into.split(".")
    # No redirect is followed, and of the catalog's configuration nothing is taken but the prefix of its paths.
    with httpx.Client(
        headers=dict(place.headers), timeout=_PATIENCE, trust_env=False, transport=PinnedTransport(place.decide)
    ) as client:
        try:
            _Other(client, place.base_url.rstrip("/")).register(database, table, metadata)
        except (httpx.HTTPError, ValueError) as error:
            raise SyncError(f"the other catalog did not take `{into}`: {visible_words(error)}") from error


class _Other:
    """The other catalog, asked as the Iceberg REST specification says."""

    def __init__(self, client: httpx.Client, base: str) -> None:
        self._client = client
        self._base = base

    def register(self, database: str, table: str, metadata: str) -> None:
        """Make the database where it is missing, and the table, or replace it. Raises `ValueError` or httpx's errors."""
        root = self._root()
        self._send("POST", f"{root}/namespaces", {"namespace": [database], "properties": {}}, HTTPStatus.CONFLICT)
        place = f"{root}/namespaces/{quote(database, safe='')}"
        found = self._send("GET", f"{place}/tables/{quote(table, safe='')}", None, HTTPStatus.NOT_FOUND)
        wanted = {"name": table, "metadata-location": metadata, "overwrite": found != HTTPStatus.NOT_FOUND}
        self._send("POST", f"{place}/register", wanted)

    def _root(self) -> str:
        with self._asked("GET", f"{self._base}/v1/config") as answer:
            _require(answer)
            said = json.loads(_body(answer))
        known = {**said.get("defaults", {}), **said.get("overrides", {})} if isinstance(said, dict) else {}
        prefix = str(known.get("prefix", "")).strip("/")
        return f"{self._base}/v1/{quote(prefix)}" if prefix else f"{self._base}/v1"

    def _send(self, method: str, address: str, body: Any = None, also: HTTPStatus | None = None) -> int:
        with self._asked(method, address, body) as answer:
            _require(answer, also)
            return answer.status_code

    @contextmanager
    def _asked(self, method: str, address: str, body: Any = None) -> Iterator[httpx.Response]:
        with self._client.stream(method, address, json=body) as answer:
            yield answer


def _require(answer: httpx.Response, also: HTTPStatus | None = None) -> None:
    if not answer.is_success and answer.status_code != also:
        raise ValueError(f"it answered {answer.status_code} {answer.reason_phrase}".rstrip())


def _body(answer: httpx.Response) -> bytes:
    body = b""
    for piece in answer.iter_bytes():
        body += piece
        if len(body) > _LARGEST:
            raise ValueError(f"its answer is larger than {_LARGEST:,} bytes")
    return body
