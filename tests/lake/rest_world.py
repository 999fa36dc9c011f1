"""A served Iceberg REST catalog over a real store and warehouse, with decisions from a table of rights."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from pyiceberg.catalog.rest import RestCatalog

from headgate.control.gate import Verdict
from headgate.control.ports import Draft, Pointer
from headgate.doors.iceberg_rest import iceberg_router
from headgate.doors.iceberg_rest.ports import Identified, Name, NameTakenError, NotEmptyError, RefusedError
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, ResourceCreated, ResourceDeleted, ResourceRenamed
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.lake.catalog import TableCatalog
from headgate.lake.warehouse import Warehouse
from headgate.store import SqlStore, open_stores
from tests.threads import served as serve

LAKE = ("lake",)


class FakeGate:
    """Keeps the promises of the gate with a dictionary: who may do what on which name, `*` for everything."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.ids: dict[Name, ResourceId] = {LAKE: ResourceId("lake")}
        self.rights: dict[tuple[str, Name], set[str]] = {}
        self.refuses_commands: Verdict | None = None

    def allow(self, person: str, name: Name, *actions: str) -> None:
        self.rights.setdefault((person, name), set()).update(actions)

    def check(self, caller: Caller, action: str, names: Sequence[str]) -> Verdict:
        name = tuple(names)
        held = self._held(caller, name)
        allowed = bool({action, "*"} & held)
        message = "" if allowed else f"`{action}` is not given to you here"
        return Verdict(
            allowed=allowed,
            discoverable=bool(held),
            revision=self.store.head(),
            message=message,
            resource=self.ids.get(name),
        )

    def visible(self, caller: Caller, names: Sequence[str]) -> Sequence[str]:
        above = tuple(names)
        return sorted(name[-1] for name in self.ids if name[:-1] == above and self._held(caller, name))

    def create_database(self, caller: Caller, name: Name) -> None:
        self._require(caller, "lake.create_database", LAKE)
        if name in self.ids:
            raise NameTakenError(f"there is a `{name[-1]}` already")
        id = ResourceId(str(uuid.uuid4()))
        self._append(ResourceCreated(id, "database", self.ids[LAKE], name[-1], caller.principal))
        self.ids[name] = id

    def drop_database(self, caller: Caller, name: Name) -> None:
        self._require(caller, "database.drop", name)
        if any(other[:-1] == name for other in self.ids):
            raise NotEmptyError(f"`{name[-1]}` is not empty")
        self._append(ResourceDeleted(self.ids.pop(name)))

    def create_table(self, caller: Caller, database: Name, name: str, table: ResourceId, pointer: Pointer) -> None:
        self._require(caller, "database.create_table", database)
        if (*database, name) in self.ids:
            raise NameTakenError(f"there is a `{name}` already")
        self._append(ResourceCreated(table, "table", self.ids[database], name, caller.principal), pointer)
        self.ids[*database, name] = table

    def rename_table(self, caller: Caller, table: ResourceId, database: Name, name: str) -> None:
        old = self._name(table)
        self._require(caller, "table.alter", old)
        if (*database, name) in self.ids:
            raise NameTakenError(f"there is a `{name}` already")
        self._append(ResourceRenamed(table, self.ids[database], name))
        self.ids[*database, name] = self.ids.pop(old)

    def drop_table(self, caller: Caller, table: ResourceId) -> None:
        name = self._name(table)
        self._require(caller, "table.drop", name)
        self._append(ResourceDeleted(table))
        del self.ids[name]

    def _held(self, caller: Caller, name: Name) -> set[str]:
        return self.rights.get((caller.principal, name), set()) | self.rights.get((caller.principal, LAKE), set())

    def _require(self, caller: Caller, action: str, name: Name) -> None:
        verdict = self.check(caller, action, name)
        if self.refuses_commands or not verdict.allowed or verdict.resource is None:
            raise RefusedError(self.refuses_commands or verdict)

    def _name(self, table: ResourceId) -> Name:
        return next(name for name, id in self.ids.items() if id == table)

    def _append(self, change: Change, *pointers: Pointer) -> None:
        self.store.append(self.store.head(), Draft(0.0, None, "test", (change,), pointers=pointers))


def identify(_method: str, _target: str, headers: Mapping[str, str], _body: bytes) -> Identified | None:
    """`Bearer anna` is anna from outside, `Bearer spark:anna` is anna's guarded session."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind != "Bearer" or not token:
        return None
    person = token.removeprefix("spark:")
    return Identified(Caller(PrincipalId(person)), guarded=person != token)


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

    def call(self, method: str, path: str, body: Any = None, token: str = ADMIN) -> httpx.Response:
        """One request by hand."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self._client.request(method, f"{self.url}/v1{path}", json=body, headers=headers)

    def metadata_files(self) -> list[Path]:
        return sorted(self.folder.rglob("*.metadata.json"))


@contextmanager
def served(folder: Path) -> Iterator[World]:
    """Serve a catalog on a free loopback port."""
    with closing(open_stores(folder)) as stores:
        store = stores.log(ResourceId("organization"))
        gate = FakeGate(store)
        gate.allow(ADMIN, LAKE, "*")
        catalog = TableCatalog(store, Warehouse(folder / "warehouse"))
        app = FastAPI()
        app.include_router(iceberg_router(gate, catalog, identify), prefix="/iceberg")
        with serve(app) as address, closing(World(folder, f"{address}/iceberg", gate, catalog)) as world:
            yield world
