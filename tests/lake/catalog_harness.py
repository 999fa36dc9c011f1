"""A served Iceberg REST catalog over a real store and warehouse, with decisions from a table of rights."""

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from pyiceberg.catalog.rest import RestCatalog

from headgate.control.catalog.tables import PROPERTIES
from headgate.control.kernel.audit_records import UNAUTHENTICATED, Denial
from headgate.control.kernel.metadata import CommandMetadata, CommandOutcome
from headgate.control.kernel.ports import DocumentPut, LogWrite, Pointer
from headgate.control.organizations.commands import ORGANIZATION
from headgate.control.questions.by_name import Verdict
from headgate.endpoints.iceberg_rest import iceberg_router
from headgate.endpoints.iceberg_rest.ports import (
    AccessDeniedError,
    Authenticated,
    AuthenticateRequest,
    HttpRequest,
    Lake,
    NamespaceNotEmptyError,
    NameTakenError,
    QualifiedName,
    SenderDeniedError,
)
from headgate.endpoints.iceberg_rest.request import STORED_ANSWER
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, ResourceCreated, ResourceDeleted, ResourceRenamed
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId, RunId
from headgate.facts.snapshot import Snapshot
from headgate.lake.catalog import TableCatalog
from headgate.lake.view_catalog import ViewCatalog
from headgate.lake.warehouse import FileWarehouse
from headgate.store import SqlStore, open_stores
from headgate.untrusted_input.blocking_pool import BlockingPool
from tests.lake.file_parsers import PARSERS
from tests.threads import served as serve

LAKE = ("lake",)


class FakeGate:
    """Keeps the promises of the gate with a dictionary: who may do what on which name, `*` for everything."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.ids: dict[QualifiedName, ResourceId] = {LAKE: ResourceId("lake")}
        self.views: set[ResourceId] = set()
        self.rights: dict[tuple[str, QualifiedName], set[str]] = {}
        self.refuses_commands: Verdict | None = None
        self.denials: list[tuple[Caller, Denial]] = []

    def allow(self, person: str, name: QualifiedName, *actions: str) -> None:
        self.rights.setdefault((person, name), set()).update(actions)

    def serves(self, caller: Caller, names: Sequence[str]) -> bool:
        return "serve" in self._held(caller, tuple(names))

    def check(self, caller: Caller, action: str, names: Sequence[str]) -> Verdict:
        name = tuple(names)
        held = self._held(caller, name)
        allowed = bool({action, "*"} & held)
        message = "" if allowed else f"`{action}` is not given to you here"
        return Verdict(
            allowed=allowed,
            discoverable=bool(held),
            revision=self.store.head().revision,
            message=message,
            resource=self.ids.get(name),
        )

    def databases(self, caller: Caller, lake: QualifiedName) -> Sequence[str]:
        return self._visible(caller, lake)

    def tables(self, caller: Caller, database: QualifiedName, *, views: bool) -> Sequence[str]:
        return [each for each in self._visible(caller, database) if self.is_view(self.ids[*database, each]) is views]

    def is_view(self, resource: ResourceId) -> bool:
        return resource in self.views

    def properties(self, database: ResourceId) -> Mapping[str, str]:
        return (self.store.document(PROPERTIES, database) or {}).get("properties", {})

    def kept(self, key: str) -> Mapping[str, Any] | None:
        return self.store.document(STORED_ANSWER, key)

    def replay_scope(self, caller: Caller) -> str:
        return f"{caller.principal} {caller.run}"

    def record_denial(self, caller: Caller, denial: Denial, request: str) -> None:
        self.denials.append((caller, denial))

    def create_database(
        self, caller: Caller, name: QualifiedName, properties: Mapping[str, str], call: CommandMetadata
    ) -> None:
        self._require(caller, "lake.create_database", LAKE)
        self._free(name)
        id = ResourceId(str(uuid.uuid4()))
        self._append(call, ResourceCreated(id, "database", self.ids[LAKE], name[-1], caller.principal))
        self.ids[name] = id
        self.store.put_document(DocumentPut(PROPERTIES, id, {"properties": dict(properties)}))

    def change_properties(
        self,
        caller: Caller,
        database: ResourceId,
        updates: Mapping[str, str],
        removals: Sequence[str],
        call: CommandMetadata,
    ) -> None:
        self._require(caller, "database.alter", self._name(database))
        self._append(call)
        kept = {key: value for key, value in self.properties(database).items() if key not in removals}
        self.store.put_document(DocumentPut(PROPERTIES, database, {"properties": {**kept, **updates}}))

    def drop_database(self, caller: Caller, name: QualifiedName, call: CommandMetadata) -> None:
        self._require(caller, "database.drop", name)
        if any(other[:-1] == name for other in self.ids):
            raise NamespaceNotEmptyError(f"`{name[-1]}` is not empty")
        self._append(call, ResourceDeleted(self.ids.pop(name)))

    def create_table(self, caller: Caller, name: QualifiedName, pointer: Pointer, call: CommandMetadata) -> None:
        self._make(caller, "database.create_table", name, pointer, call)

    def register_table(self, caller: Caller, name: QualifiedName, pointer: Pointer, call: CommandMetadata) -> None:
        self._require(caller, "lake.register_table", LAKE)
        self._make(caller, "database.create_table", name, pointer, call)

    def create_view(self, caller: Caller, name: QualifiedName, pointer: Pointer, call: CommandMetadata) -> None:
        self._make(caller, "database.create_view", name, pointer, call)
        self.views.add(pointer.table)

    def rename_table(self, caller: Caller, table: ResourceId, name: QualifiedName, call: CommandMetadata) -> None:
        old = self._name(table)
        self._require(caller, "table.alter", old)
        self._free(name)
        self._append(call, ResourceRenamed(table, self.ids[name[:-1]], name[-1]))
        self.ids[name] = self.ids.pop(old)

    def drop_table(self, caller: Caller, table: ResourceId, call: CommandMetadata) -> None:
        name = self._name(table)
        self._require(caller, "table.drop", name)
        self._append(call, ResourceDeleted(table))
        del self.ids[name]

    def _make(self, caller: Caller, action: str, name: QualifiedName, pointer: Pointer, call: CommandMetadata) -> None:
        self._require(caller, action, name[:-1])
        self._free(name)
        made = ResourceCreated(pointer.table, "table", self.ids[name[:-1]], name[-1], caller.principal)
        self._append(call, made, pointer=pointer)
        self.ids[name] = pointer.table

    def _visible(self, caller: Caller, above: QualifiedName) -> list[str]:
        return sorted(name[-1] for name in self.ids if name[:-1] == above and self._held(caller, name))

    def _free(self, name: QualifiedName) -> None:
        if name in self.ids:
            raise NameTakenError(f"there is a `{name[-1]}` already")

    def _held(self, caller: Caller, name: QualifiedName) -> set[str]:
        return self.rights.get((caller.principal, name), set()) | self.rights.get((caller.principal, LAKE), set())

    def _require(self, caller: Caller, action: str, name: QualifiedName) -> None:
        verdict = self.check(caller, action, name)
        if self.refuses_commands or not verdict.allowed or verdict.resource is None:
            raise AccessDeniedError(self.refuses_commands or verdict)

    def _name(self, table: ResourceId) -> QualifiedName:
        return next(name for name, id in self.ids.items() if id == table)

    def _append(self, call: CommandMetadata, *changes: Change, pointer: Pointer | None = None) -> None:
        head = self.store.head()
        pointers = (pointer,) if pointer else ()
        kept = call.keeps(CommandOutcome(fold(Snapshot(), (), head.revision + 1)))
        self.store.append(head, LogWrite(0.0, None, "test", changes, tuple(kept), pointers))


def identifier(lake: Lake) -> AuthenticateRequest:
    """`Bearer anna` is anna from outside, `Bearer spark:anna` her guarded session, `spark:anna@r1` that of a run."""

    def identify(sent: HttpRequest) -> Authenticated:
        kind, _, token = sent.headers.get("authorization", "").partition(" ")
        if kind != "Bearer" or not token:
            raise SenderDeniedError(UNAUTHENTICATED, None)
        person, _, run = token.removeprefix("spark:").partition("@")
        caller = Caller(PrincipalId(person), run=RunId(run) if run else None)
        return Authenticated(caller, guarded=token.startswith("spark:"), lake=lake)

    return identify


ADMIN = "admin"


class World:
    """What a test works with: `admin` may do everything, nobody else anything."""

    def __init__(self, folder: Path, url: str, gate: FakeGate, catalog: TableCatalog) -> None:
        self.folder = folder
        self.url = url
        self.gate = gate
        self.lake = catalog
        self._client = httpx.Client(timeout=30)

    def close(self) -> None:
        self._client.close()

    def iceberg(self, token: str = ADMIN) -> RestCatalog:
        """A real PyIceberg client."""
        return RestCatalog("lake", uri=self.url, token=token)

    def call(self, method: str, path: str, body: Any = None, by: str = ADMIN, **headers: str) -> httpx.Response:
        """One request by hand; a header's name is written with `_`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if by:
            sent["Authorization"] = f"Bearer {by}"
        return self._client.request(method, f"{self.url}/v1{path}", json=body, headers=sent)

    def metadata_files(self) -> list[Path]:
        return self._files(".metadata.json")

    def data_files(self) -> list[Path]:
        return self._files(".parquet")

    def _files(self, ending: str) -> list[Path]:
        """Return the files with the ending. `os.walk` does not mind a folder that is removed meanwhile."""
        found = (Path(folder, each) for folder, _, names in os.walk(self.folder) for each in names)
        return sorted(each for each in found if each.name.endswith(ending))


@contextmanager
def served(folder: Path, parsers: BlockingPool = PARSERS) -> Iterator[World]:
    """Serve a catalog on a free loopback port."""
    with closing(open_stores(folder)) as stores:
        store = stores.log(ResourceId("organization"))
        gate = FakeGate(store)
        gate.allow(ADMIN, LAKE, "*")
        warehouse = FileWarehouse(folder / "warehouse", ORGANIZATION)
        catalog = TableCatalog(store, warehouse, parsers, ORGANIZATION, time.time)
        app = FastAPI()
        lake = Lake(gate, catalog, ViewCatalog(store, warehouse, time.time))
        app.include_router(iceberg_router(identifier(lake), lambda _scope, _denial: None), prefix="/iceberg")
        with serve(app) as address, closing(World(folder, f"{address}/iceberg", gate, catalog)) as world:
            yield world
