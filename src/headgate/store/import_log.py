"""Import of an exported organization: all of its file or nothing, and only after its hash chain is verified."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TextIO

from sqlalchemy import Connection, Table, insert, select

from headgate.control.kernel.ports import Pointer, StoreError
from headgate.facts.changes import ResourceCreated, ResourceRenamed
from headgate.facts.encoding import END_OF_TIME
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.store import hash_chain
from headgate.store.database import Database
from headgate.store.export import FORMAT, MODEL, PARSED, READS, VERSION, model_hashes
from headgate.store.location_overlap import TableLocations
from headgate.store.log_rows import chain_fault, entry_of
from headgate.store.tables import documents, log_table, pointers, run_lines, runs
from headgate.untrusted_input.errors import OversizedInputError
from headgate.untrusted_input.json_documents import check_json_bounds

LEFT_OUT = frozenset(("access_token", "connection_secret", "invitation", "run_secret"))
"""Kinds of documents of an organization that are not imported: secrets that are encrypted or valid for another deployment."""

OF_DEPLOYMENT = frozenset(("device", "email", "email_look", "home", "login", "password", "session", "subject", "user"))
"""Kinds of documents that only the deployment's own log has; they are not imported."""

UNIQUE = "token"
"""The kind of documents that are looked up across all logs: an id must belong to one organization only."""

MAX_LINE = 64 * 1024 * 1024
"""The longest line, which is one row, in characters."""

_TABLES = {"entry": log_table, "document": documents, "pointer": pointers, "run": runs, "run_line": run_lines}
_PAGE = 200
_LARGEST_COUNT = 2**31 - 1
_NAMED = ("principal", "group")
"""The kinds of documents that hold a name."""
_LONGEST_NAME = 1000
_SCHEDULES = "schedules"
"""The kind of the document with the revision of the log up to which the schedules of pipelines have been evaluated."""
_RUN = re.compile(r"[A-Za-z0-9_-]+")
"""The characters of a run's id, which is also the name of the folder with the run's files."""


@dataclass(slots=True)
class _ImportState:
    """The state of an import after the entries read until now."""

    root: ResourceId
    facts: Snapshot = field(default_factory=Snapshot)
    previous: str = hash_chain.GENESIS
    hashes: set[str] = field(default_factory=set[str])

    def follow(self, row: Any) -> None:
        """Add the next entry. Raises `StoreError` if the hash chain is broken, or a change is impossible."""
        revision = self.facts.revision + 1
        fault = chain_fault(row, revision, self.previous, "in the file")
        if fault is not None:
            raise StoreError(f"{fault}; export the organization again")
        entry = entry_of(row)
        try:
            self.facts = fold(self.facts, entry.changes, revision)
        except KeyError as error:
            raise StoreError(
                f"revision {revision} in the file changes `{error.args[0]}`, which does not exist; export the organization again"
            ) from error
        for change in entry.changes:
            if isinstance(change, ResourceCreated | ResourceRenamed) and change.resource in self.facts.resources:
                _require_below(self.facts, change.resource, revision)
        self.hashes.update(hash for change in entry.changes for hash in model_hashes(change))
        self.previous = row.hash


def read_export(file: TextIO) -> Iterator[str]:
    """Yield the lines of a file. A line longer than `MAX_LINE` is read up to one character above that limit."""
    while line := file.readline(MAX_LINE + 1):
        yield line


def read_exported_root(lines: Iterable[str]) -> ResourceId:
    """Return the root of the log from the first line of a file. Raises `StoreError` if the file is not an export."""
    return _Reader(lines, lambda _: False).root


def import_log(
    database: Database, lines: Iterable[str], may_hold: Callable[[Pointer], bool], is_model: Callable[[str], bool]
) -> Snapshot:
    """Write the log of a file to the database and return its newest facts.

    `may_hold` returns whether the organization may own the folder of a table of the file, `is_model` whether a text is the
    source of a model. Raises `StoreError` for an incomplete or altered file, a log that exists already, unknown models and
    folders of tables that are not the organization's; then nothing is written.
    """
    with database.transaction() as connection:
        read = _Reader(lines, is_model)
        state = _ImportState(read.root)
        if connection.execute(select(log_table.c.revision).where(log_table.c.log_id == read.root).limit(1)).first():
            raise StoreError(f"there is an organization `{read.root}` already; import the file into another deployment")
        folders = TableLocations(connection.execute(select(pointers.c.place)).scalars())
        for name, rows in _group_in_pages(read.rows()):
            if name == "entry":
                for row in rows:
                    state.follow(SimpleNamespace(**row))
            if name == "pointer":
                _require_own(rows, may_hold)
                _require_apart(rows, folders)
            _insert(database, connection, name, rows)
        _complete(connection, state)
        database.backend.announce(connection, read.root, state.facts.revision)
    return state.facts


class _Reader:
    """Reads the lines of an exported file, with their number and checksum. Raises `StoreError` for an invalid line."""

    def __init__(self, lines: Iterable[str], is_model: Callable[[str], bool]) -> None:
        self._is_model = is_model
        self._lines = iter(lines)
        self._digest = hashlib.sha256()
        self._count = 0
        header = self._next()
        if header.get("format") != FORMAT or not isinstance(header.get("organization"), str):
            raise StoreError(
                "the file is no exported organization; name a file that `headgate organization export` wrote"
            )
        if header.get("version") not in READS:
            raise StoreError(
                f"the file has format version {header.get('version')}, but this Headgate reads versions up to {VERSION}; "
                "import the file with the version of Headgate that exported it"
            )
        self.root = ResourceId(header["organization"])

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each row with the name of its kind, up to the `end` line, whose count and checksum are compared."""
        while True:
            count, digest = self._count, self._digest.hexdigest()
            line = self._next()
            [name, said] = next(iter(line.items())) if len(line) == 1 else ("", None)
            if name == "end":
                if said != {"lines": count, "sha256": digest}:
                    raise StoreError("the file was altered after it was exported; export the organization again")
                return
            if name not in _TABLES:
                kinds = ", ".join(f"`{each}`" for each in (*_TABLES, "end"))
                raise StoreError(
                    f"line {self._count} of the file has none of the kinds that an export has ({kinds}); export the organization again"
                )
            if not isinstance(said, dict):
                raise self._invalid(name)
            row = self._row(name, said)
            if name != "document" or row["kind"] not in LEFT_OUT | OF_DEPLOYMENT:
                yield name, row

    def _row(self, name: str, said: dict[str, Any]) -> dict[str, Any]:
        row = {column: _encode(column, value) for column, value in {"log_id": self.root, **said}.items()}
        if name == "pointer" and isinstance(row.get("metadata_location"), str):
            row["place"] = Pointer(ResourceId(str(row.get("table_id"))), row["metadata_location"]).place
        if not (_fits(_TABLES[name], row) and self._is_known(name, said)):
            raise self._invalid(name)
        return row

    def _invalid(self, name: str) -> StoreError:
        return StoreError(
            f"line {self._count} of the file is not a valid `{name}`: a column is missing, unknown or has an invalid value; "
            "export the organization again"
        )

    def _is_known(self, name: str, said: Mapping[str, Any]) -> bool:
        """Whether a run's id can name a folder, and whether a document has the form of its kind."""
        if name == "run":
            return _RUN.fullmatch(said["run"]) is not None
        return name != "document" or self._is_document(said)

    def _is_document(self, said: Mapping[str, Any]) -> bool:
        body = said["body"]
        if not isinstance(body, dict):
            return False
        if said["kind"] == MODEL:
            return self._is_model_source(said["id"], body.get("source"))
        if said["kind"] in _NAMED:
            return isinstance(body.get("name"), str) and len(body["name"]) <= _LONGEST_NAME
        return said["kind"] != _SCHEDULES or all(_is_count(body.get(each, 0)) for each in ("revision", "at"))

    def _is_model_source(self, id: str, source: object) -> bool:
        is_whole = isinstance(source, str) and hashlib.sha256(source.encode()).hexdigest() == id
        return is_whole and self._is_model(str(source))

    def _next(self) -> dict[str, Any]:
        line = next(self._lines, "").rstrip("\n")
        if not line:
            raise StoreError(f"the file was truncated after line {self._count}; export the organization again")
        if len(line) > MAX_LINE:
            raise StoreError(
                f"line {self._count + 1} of the file is longer than {MAX_LINE:,} characters; export the organization again"
            )
        encoded = line.encode()
        self._digest.update(encoded + b"\n")
        self._count += 1
        try:
            check_json_bounds(encoded)
            said = json.loads(line)
        except ValueError as error:
            raise StoreError(f"line {self._count} of the file is not JSON; export the organization again") from error
        except OversizedInputError as error:
            raise StoreError(
                f"line {self._count} of the file cannot be imported ({error}); export the organization again"
            ) from error
        return said if isinstance(said, dict) else {}


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < END_OF_TIME


def _require_own(rows: list[dict[str, Any]], may_hold: Callable[[Pointer], bool]) -> None:
    for row in rows:
        if not may_hold(Pointer(ResourceId(row["table_id"]), row["metadata_location"])):
            raise StoreError(
                f"the table `{row['table_id']}` of the export has its files in `{row['place']}`, outside the organization's "
                "folder of the warehouse; to import the table with its files there, add `--files` with that folder"
            )


def _require_apart(rows: list[dict[str, Any]], folders: TableLocations) -> None:
    for row in rows:
        if not folders.may_add(row["place"]):
            raise StoreError(
                f"the folder `{row['place']}` of the table `{row['table_id']}` in the file is, contains or is inside the folder "
                "of another table of this deployment; import the file into another deployment"
            )


def _insert(database: Database, connection: Connection, name: str, rows: list[dict[str, Any]]) -> None:
    if name != "pointer":
        connection.execute(insert(_TABLES[name]), rows)
        return
    for row in rows:
        if not database.insert_new(connection, pointers, row):
            raise StoreError(
                f"the id or the folder of the table `{row['table_id']}` in the file belongs to another table of this "
                "deployment; import the file into another deployment"
            )


def _encode(column: str, value: Any) -> Any:
    if column not in PARSED or value is None:
        return value
    return (
        hash_chain.canonical_json(value)
        if column != "body"
        else json.dumps(value, sort_keys=True, separators=(",", ":"))
    )


def _fits(table: Table, row: Mapping[str, Any]) -> bool:
    """Whether a row has exactly the columns of a table, each with a value of its type and in its range."""
    return row.keys() == set(table.c.keys()) and all(
        (type(value) is table.c[column].type.python_type and _is_in_range(value))
        or (value is None and table.c[column].nullable)
        for column, value in row.items()
    )


def _is_in_range(value: object) -> bool:
    """Whether a time is between 1970 and the year 9999, or a count fits the integer column of every database."""
    if isinstance(value, float):
        return 0 <= value < END_OF_TIME
    return not isinstance(value, int) or 0 <= value <= _LARGEST_COUNT


def _group_in_pages(rows: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield consecutive rows of the same table in pages of at most `_PAGE` rows."""
    name, page = "", list[dict[str, Any]]()
    for each, row in rows:
        if page and (each != name or len(page) == _PAGE):
            yield name, page
            page = []
        name = each
        page.append(row)
    if page:
        yield name, page


def _require_below(facts: Snapshot, resource: ResourceId, revision: int) -> None:
    """Raise `StoreError` unless a resource is below the organization: decisions walk up the tree until its root."""
    seen, at = set[ResourceId](), resource
    while at != facts.organization:
        found = facts.resources.get(at)
        if found is None or at in seen:
            raise StoreError(
                f"revision {revision} in the file puts `{resource}` outside the resource tree of the organization; export "
                "the organization again"
            )
        seen.add(at)
        at = found.parent


def _complete(connection: Connection, state: _ImportState) -> None:
    """Raise `StoreError` unless the imported log creates its organization, has its models, and reuses no token id."""
    root = state.facts.resources.get(state.root)
    if root is None or state.facts.organization != state.root or root.type != "organization":
        raise StoreError(
            f"the export lacks the entry that creates the organization `{state.root}`; export the organization again"
        )
    known = select(documents.c.id).where(documents.c.kind == MODEL, documents.c.id.in_(state.hashes))
    missing = state.hashes - set(connection.execute(known).scalars())
    if missing:
        raise StoreError(
            f"the file lacks the source of the access model with the hash `{min(missing)}`; export the organization again"
        )
    other = documents.alias("other")
    same = (other.c.kind == documents.c.kind, other.c.id == documents.c.id, other.c.log_id != documents.c.log_id)
    query = select(documents.c.id).join(other, same[0] & same[1] & same[2])
    if connection.execute(query.where(documents.c.log_id == state.root, documents.c.kind == UNIQUE).limit(1)).first():
        raise StoreError(
            "a token in the file has the id of a token of another organization of this deployment; import the file into another "
            "deployment"
        )
