"""The process that reads another catalog: run this module with `python -m`, with a `CatalogQuestion` as JSON on standard input.

It has no key and no store of Headgate, because PyIceberg parses the responses of the other catalog in it. It writes one JSON
document per line: the number of tables, then each table; or the error if the catalog cannot be opened.
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
from typing_extensions import override

from headgate.untrusted_input.limits import MEBIBYTE, limit_memory

MAX_TABLES: Final = 100_000
_MAX_DEPTH: Final = 8
"""The levels of namespaces that are listed. Tables below the first level are listed only to show that they are refused."""
_MEMORY_BYTES: Final = 2048 * MEBIBYTE
_LONGEST_ERROR: Final = 500
_CHOSEN: Final = (PREFIX, NAMESPACE_SEPARATOR_PROPERTY)
"""The properties that a REST catalog may choose for its client."""


@dataclass(frozen=True, slots=True)
class CatalogQuestion:
    """The catalog to read: its name in PyIceberg's configuration, and additional properties."""

    name: str
    properties: Mapping[str, str]


def main() -> None:
    """Read the catalog that standard input names."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # Output that a library prints must not mix with the results.
    question = TypeAdapter(CatalogQuestion).validate_json(sys.stdin.buffer.read())
    limit_memory(_MEMORY_BYTES)
    for each in _read(question):
        answers.write(json.dumps(each) + "\n")
        answers.flush()


def _read(question: CatalogQuestion) -> Iterator[dict[str, Any]]:
    try:
        source = _open(question)
        found = sorted(islice(_names(source), MAX_TABLES + 1))
    except Exception as error:  # noqa: BLE001 (each kind of catalog raises its own errors)
        yield {"error": _format_error(error)}
        return
    if len(found) > MAX_TABLES:
        yield {"error": f"the catalog has more than {MAX_TABLES:,} tables; divide them among several catalogs first"}
        return
    yield {"tables": len(found)}
    for name in found:
        yield {"name": name, **_location(source, name)}


class _RestCatalog(RestCatalog):
    """A REST catalog whose configuration response may set only the paths below its address.

    By default the response replaces any property: the code that logs in (`auth`), certificates of this machine, the address
    that receives the token.
    """

    @override
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

    # The properties of a table, and a catalog's response about it, may name any Python class to read files (`py-io-impl`):
    # only the operator's properties are used.
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
    except Exception as error:  # noqa: BLE001 (each kind of catalog raises its own errors)
        return {"problem": _format_error(error)}


def _format_error(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"a response of the catalog needs more than {_MEMORY_BYTES // MEBIBYTE:,} MiB of memory; divide its tables among several namespaces first"
    return str(error)[:_LONGEST_ERROR] or type(error).__name__


if __name__ == "__main__":
    main()
