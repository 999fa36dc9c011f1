"""A served Iceberg REST catalog over a real organization and warehouse, under the atomic model (tests/models/atomic.yaml)."""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from pyiceberg.catalog.rest import RestCatalog

from headgate.app.settings.settings import DEFAULT_MODEL
from headgate.control.authentication.authenticator import Authenticator
from headgate.control.control import Control
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.kernel.audit_records import UNAUTHENTICATED
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.ports import DocumentPut, Store
from headgate.control.models.commands import InstallModel
from headgate.control.models.library import load_source
from headgate.control.organizations.audit_recorder import AuditRecorder
from headgate.control.organizations.commands import ORGANIZATION
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.context import AppState
from headgate.endpoints.iceberg_rest import iceberg_router
from headgate.endpoints.iceberg_rest.catalog_callers import (
    Authenticated,
    AuthenticateRequest,
    CallerDeniedError,
    HttpRequest,
    Lake,
)
from headgate.endpoints.iceberg_rest.names import QualifiedName
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    Change,
    Edge,
    PrincipalAdded,
    ResourceCreated,
    RoleAssigned,
    RoleRevoked,
    RunAsSet,
    RunStarted,
)
from headgate.facts.ids import PrincipalId, ResourceId, RunId
from headgate.lake.catalog import TableCatalog
from headgate.lake.view_catalog import ViewCatalog
from headgate.lake.warehouse import FileWarehouse
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import SqlLimits
from headgate.store import open_stores
from headgate.untrusted_input.blocking_pool import BlockingPool
from tests.endpoints.auth.auth_harness import NoSpark
from tests.lake.file_parsers import PARSERS
from tests.threads import served as serve

LAKE = ("lake",)
ZSTD = {"write.parquet.compression-codec": "zstd"}
"""The properties of a new table whose creator sets none."""
ADMIN = "admin"
ATOMIC = load_source((Path(__file__).parents[1] / "models" / "atomic.yaml").read_text(), "atomic.yaml")
_PROJECT, _LAKE = ResourceId("project"), ResourceId("lake")


@dataclass(frozen=True, slots=True)
class WriteChanges:
    """A command that writes these changes, whatever the facts are."""

    changes: tuple[Change, ...]
    documents: tuple[DocumentPut, ...] = ()
    name: str = "test"

    def decide(self, view: CommandContext) -> CommandEffect:
        return CommandEffect(self.changes, self.documents)


class Rights:
    """An organization with a lake, in which `admin` may do everything, and every other user what the test allows."""

    def __init__(self, organization: Organization) -> None:
        self.organization = organization
        self._lock = threading.Lock()
        lake = (
            ResourceCreated(_PROJECT, "project", ORGANIZATION, "project"),
            ResourceCreated(_LAKE, "lake", _PROJECT, "lake"),
        )
        self._write(*lake)
        self.allow(ADMIN, LAKE, "*")

    @property
    def control(self) -> Control:
        return self.organization.control

    @property
    def store(self) -> Store:
        return self.organization.store

    def find(self, name: QualifiedName) -> ResourceId:
        """Return the id of the database, table or view of this name."""
        found = self.control.snapshot.find(name)
        assert found is not None, name
        return found.id

    def allow(self, person: str, name: QualifiedName, *actions: str) -> None:
        """Grant a user these actions on the resource; `*` is every action on it and, for the lake, on everything in it."""
        self.join(person)
        place = self.control.snapshot.resources[self.find(name)]
        types = ("lake", "database", "table", "column") if place.type == "lake" else (place.type,)
        every = [role for role in ATOMIC.model.roles if role.partition(".")[0] in types]
        roles = every if "*" in actions else actions
        self._write(*(RoleAssigned(PrincipalId(person), role, place.id, ATOMIC.model.name) for role in roles))

    def revoke(self, person: str, *kept: str) -> None:
        """Revoke all actions of a user except these."""
        held = self.control.snapshot.assignments.get(PrincipalId(person), {}).values()
        taken = [each for each in held if each.role not in kept]
        self._write(*(RoleRevoked(each.subject, each.role, each.resource) for each in taken))

    def revoke_from_others(self) -> None:
        """Revoke all actions of every user but the admin."""
        for person in self.control.snapshot.assignments:
            if person != ADMIN:
                self.revoke(person)

    def join(self, person: str) -> PrincipalId:
        """Return the user with this name; add them to the organization, without roles, if necessary."""
        id = PrincipalId(person)
        with self._lock:
            if id not in self.control.snapshot.principals:
                document = DocumentPut("principal", id, {"name": person})
                self.control.execute(WriteChanges((PrincipalAdded(id, "user"),), (document,)), None)
        return id

    def start_run(self, run: RunId, output: QualifiedName) -> None:
        """Start a run as the admin, of a pipeline that writes this table; the table need not exist."""
        pipeline, table = ResourceId(f"pipeline-{run}"), self.control.snapshot.find(output)
        relations = {
            "output_layers": (Edge(self.find(output[:-1]), name=output[-1]),),
            "outputs": (Edge(table.id, name=output[-1]),) if table else (),
        }
        self._write(
            ResourceCreated(pipeline, "query", _PROJECT, pipeline, None, relations),
            RunAsSet(pipeline, PrincipalId(ADMIN)),
            RunStarted(run, pipeline, PrincipalId(ADMIN)),
        )

    def _write(self, *changes: Change) -> None:
        self.control.execute(WriteChanges(changes), None)


def identifier(lake: Lake, rights: Rights) -> AuthenticateRequest:
    """Authenticate `Bearer anna` as anna, `spark:anna` as her guarded Spark session, and `spark:anna@r1` as that of a run."""

    async def identify(sent: HttpRequest) -> Authenticated:
        kind, _, token = sent.headers.get("authorization", "").partition(" ")
        if kind != "Bearer" or not token:
            raise CallerDeniedError(UNAUTHENTICATED, None)
        person, _, run = token.removeprefix("spark:").partition("@")
        caller = Caller(rights.join(person), run=RunId(run) if run else None)
        return Authenticated(caller, guarded=token.startswith("spark:"), lake=lake)

    return identify


class CatalogHarness:
    """The catalog and its clients: `admin` may do everything, and all other users nothing."""

    def __init__(self, folder: Path, url: str, rights: Rights, catalog: TableCatalog) -> None:
        self.folder = folder
        self.url = url
        self.rights = rights
        self.lake = catalog
        self._client = httpx.Client(timeout=30)

    def close(self) -> None:
        self._client.close()

    def iceberg(self, token: str = ADMIN) -> RestCatalog:
        """Return a real PyIceberg client."""
        return RestCatalog("lake", uri=self.url, token=token)

    def call(self, method: str, path: str, body: Any = None, by: str = ADMIN, **headers: str) -> httpx.Response:
        """Send one request; names of headers are written with `_`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if by:
            sent["Authorization"] = f"Bearer {by}"
        return self._client.request(method, f"{self.url}/v1{path}", json=body, headers=sent)

    def metadata(self, table: str) -> dict[str, Any]:
        """Return the metadata of a table of the database `raw`."""
        found: dict[str, Any] = self.call("GET", f"/namespaces/raw/tables/{table}").json()["metadata"]
        return found

    def commit(self, table: str, *updates: Mapping[str, Any], by: str = ADMIN) -> httpx.Response:
        """Commit updates to a table of the database `raw`, whatever its state."""
        return self.call("POST", f"/namespaces/raw/tables/{table}", {"requirements": [], "updates": updates}, by)

    def metadata_files(self) -> list[Path]:
        return self._files(".metadata.json")

    def data_files(self) -> list[Path]:
        return self._files(".parquet")

    def _files(self, ending: str) -> list[Path]:
        """Return the files with this ending; `os.walk` tolerates folders that are removed meanwhile."""
        found = (Path(folder, each) for folder, _, names in os.walk(self.folder) for each in names)
        return sorted(each for each in found if each.name.endswith(ending))


@contextmanager
def served(folder: Path, parsers: BlockingPool = PARSERS) -> Iterator[CatalogHarness]:
    """Serve a catalog on a free loopback port."""
    with closing(open_stores(folder)) as stores:
        organizations = open_organizations(stores, time.time, DEFAULT_MODEL)
        organizations.deployment.control.execute(InstallModel(ATOMIC), None)
        founding = OrganizationSpec(ORGANIZATION, "test", PrincipalId("owner"), "owner", ATOMIC.model.name)
        organization = create_organization(organizations, founding)
        rights, store = Rights(organization), organization.store
        warehouse = FileWarehouse(folder / "warehouse", ORGANIZATION)
        catalog = TableCatalog(store, warehouse, parsers, ORGANIZATION, time.time)
        lake = Lake(organization, catalog, ViewCatalog(store, warehouse, time.time))
        app = FastAPI()
        app.include_router(iceberg_router(identifier(lake, rights)), prefix="/iceberg")
        with closing(AuditRecorder(stores)) as audit:
            known = Authenticator(stores, lambda _: None)
            app.state.deployed = AppState(
                organizations, known, audit, NoSpark(), StatementStore(NoSpark(), SqlLimits()), dict
            )
            with serve(app) as address, closing(CatalogHarness(folder, f"{address}/iceberg", rights, catalog)) as world:
                yield world
