"""The process that reads another catalog: `python -m` this, with a `CatalogQuestion` as JSON on its standard input.

It holds no key and no store of ours: PyIceberg parses here what the other catalog answers. It writes one JSON document on each line: how many
tables there are, then each table; or why the catalog cannot be opened.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from pydantic import TypeAdapter
from pyiceberg.catalog import AVAILABLE_CATALOGS, Catalog, CatalogType, load_catalog
from pyiceberg.catalog.rest import NAMESPACE_SEPARATOR_PROPERTY, PREFIX, RestCatalog
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.utils.config import Config

from headgate.untrusted_input.limits import MEBIBYTE, limit_memory

MAX_TABLES: Final = 100_000
_MAX_DEPTH: Final = 8
"""Levels of namespaces that are listed. Tables below the first level are refused anyway, and are listed for that."""
_MEMORY_BYTES: Final = 2048 * MEBIBYTE
_LONGEST_ERROR: Final = 500
_CHOSEN: Final = (PREFIX, NAMESPACE_SEPARATOR_PROPERTY)
"""What a REST catalog chooses for its client."""


@dataclass(frozen=True, slots=True)
class CatalogQuestion:
    """Which catalog is read: its name in PyIceberg's configuration, and properties beside those."""

    name: str
    properties: Mapping[str, str]


def main() -> None:
    """Read the catalog that the standard input names."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # What a library prints is no answer.
    question = TypeAdapter(CatalogQuestion).validate_json(sys.stdin.buffer.read())
    limit_memory(_MEMORY_BYTES)
    for each in _read(question):
        answers.write(json.dumps(each) + "\n")
        answers.flush()


def _read(question: CatalogQuestion) -> Iterator[dict[str, Any]]:
    try:
        source = _open(question)
        found = sorted(islice(_names(source), MAX_TABLES + 1))
    except Exception as error:  # noqa: BLE001 (each kind of catalog has errors of its own)
        yield {"error": _format_error(error)}
        return
    if len(found) > MAX_TABLES:
        yield {"error": f"it has more than {MAX_TABLES:,} tables"}
        return
    yield {"tables": len(found)}
    for name in found:
        yield {"name": name, **_location(source, name)}


class _RestCatalog(RestCatalog):
    """A REST catalog that chooses nothing for its client but the paths below its address.

    Left alone, its answer replaces any property: the code that logs in (`auth`), certificates of this machine, the address that gets the token.
    """

    def _fetch_config(self) -> None:
        uri, given = self.uri, dict(self.properties)
        super()._fetch_config()
        chosen = {name: self.properties[name] for name in _CHOSEN if name in self.properties}
        self.uri, self.properties = uri, {**chosen, **given}


def _open(question: CatalogQuestion) -> Catalog:
    AVAILABLE_CATALOGS[CatalogType.REST] = lambda name, properties: _RestCatalog(name, **properties)
    given = {**(Config().get_catalog_config(question.name) or {}), **question.properties}
    source = load_catalog(question.name, **question.properties)

    def load_io(_properties: object = None, location: str | None = None) -> FileIO:
        return load_file_io(given, location)

    # The properties of a table and what a catalog answers of it may name any Python class as that which reads files
    # (`py-io-impl`): only what the operator gave counts.
    source._load_file_io = load_io  # pyright: ignore[reportAttributeAccessIssue] # noqa: SLF001
    return source


def _names(source: Catalog, above: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the names of all tables of a catalog."""
    for namespace in source.list_namespaces(tuple(above)):
        yield from source.list_tables(namespace)
        if len(above) < len(namespace) < _MAX_DEPTH:
            yield from _names(source, namespace)


def _location(source: Catalog, name: tuple[str, ...]) -> dict[str, str]:
    try:
        return {"metadata_location": source.load_table(name).metadata_location}
    except Exception as error:  # noqa: BLE001 (each kind of catalog has errors of its own)
        return {"problem": _format_error(error)}


def _format_error(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"its answer takes more than {_MEMORY_BYTES // MEBIBYTE:,} MiB of memory"
    return str(error)[:_LONGEST_ERROR] or type(error).__name__


if __name__ == "__main__":
    main()
