"""Isolation of files: no request of one organization reads, takes over or removes a file of another organization."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from headgate.control.catalog.tables import RegisterTable
from headgate.control.kernel.ports import Pointer
from headgate.facts.ids import ResourceId
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in

SCHEMA = Schema(NestedField(1, "n", LongType()))
ROWS = pa.table({"n": [1, 2, 3]})


@dataclass(frozen=True)
class Lakes:
    """Two organizations and their catalogs; `victim.raw.t` has rows, `attacker` has the database `mine`."""

    world: DeploymentHarness
    victim: RestCatalog
    attacker: RestCatalog
    beta: OrganizationClient

    @property
    def table(self) -> Table:
        """The victim's table."""
        return self.victim.load_table("raw.t")

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request as the attacker to the attacker's own catalog."""
        known = {"authorization": f"Bearer {self.beta.tokens['owner']}"}
        return self.world.http.request(method, f"/o/beta/iceberg/v1{path}", json=body, headers=known)

    def files(self) -> dict[str, bytes]:
        """Return every file of the victim."""
        root = self.world.deployment.settings.warehouse / self.world.opened.id
        return {str(each): each.read_bytes() for each in root.rglob("*") if each.is_file()}


@pytest.fixture
def lakes(tmp_path: Path) -> Iterator[Lakes]:
    with world_in(tmp_path) as world:
        beta = world.organization("beta", "nekt")
        made = Lakes(world, catalog(world, world, ""), catalog(world, beta, "/o/beta"), beta)
        made.victim.create_table("raw.t", SCHEMA).append(ROWS)
        made.attacker.create_namespace("mine")
        made.attacker.create_table("mine.own", SCHEMA).append(ROWS)
        yield made


def catalog(world: DeploymentHarness, place: OrganizationClient, address: str) -> RestCatalog:
    return RestCatalog(place.opened.id, uri=f"{world.http.base_url}{address}/iceberg", token=place.tokens["owner"])


def spellings(path: str) -> list[str]:
    """Return different spellings of the path of a file."""
    plain = path.removeprefix("file://")
    return [path, plain, f"file:{plain}", f"file:///{plain}", plain.replace("/metadata/", "//metadata/")]


class TestATableOfAnotherOrganization:
    def test_a_table_of_another_organization_cannot_be_registered(self, lakes: Lakes) -> None:
        before = lakes.files()

        for path in spellings(lakes.table.metadata_location):
            answer = lakes.send("POST", "/namespaces/mine/register", {"name": "stolen", "metadata-location": path})
            assert answer.status_code in (400, 403), answer.text

        assert lakes.attacker.list_tables("mine") == [("mine", "own")]
        assert lakes.files() == before

    def test_a_dropped_table_of_another_organization_cannot_be_registered(self, lakes: Lakes) -> None:
        path = lakes.table.metadata_location
        lakes.victim.drop_table("raw.t")

        answer = lakes.send("POST", "/namespaces/mine/register", {"name": "stolen", "metadata-location": path})

        assert answer.status_code in (400, 403)
        assert lakes.victim.register_table("raw.t", path).scan().to_arrow() == ROWS

    @pytest.mark.parametrize("staged", [False, True], ids=["made", "staged"])
    def test_a_new_table_does_not_get_the_location_of_a_table_of_another_organization(
        self,
        lakes: Lakes,
        staged: bool,  # noqa: FBT001 (a parameter)
    ) -> None:
        body = {
            "name": "new",
            "location": lakes.table.location(),
            "schema": SCHEMA.model_dump(by_alias=True),
            "stage-create": staged,
        }

        answer = lakes.send("POST", "/namespaces/mine/tables", body)

        assert answer.status_code in (400, 403) or lakes.beta.opened.id in answer.json()["metadata"]["location"]

    def test_a_commit_cannot_name_files_of_another_organization(self, lakes: Lakes) -> None:
        theirs, mine = lakes.table, lakes.attacker.load_table("mine.own")
        snapshot = theirs.current_snapshot()
        assert snapshot is not None
        taken = {**snapshot.model_dump(by_alias=True, mode="json"), "snapshot-id": 1, "sequence-number": 9}
        updates = [
            [{"action": "set-location", "location": theirs.location()}],
            [{"action": "assign-uuid", "uuid": str(theirs.metadata.table_uuid)}],
            [{"action": "add-snapshot", "snapshot": taken}],
            [{"action": "set-properties", "updates": {"write.data.path": theirs.location()}}],
            [{"action": "set-properties", "updates": {"write.metadata.path": f"{theirs.location()}/metadata"}}],
            [
                {
                    "action": "set-statistics",
                    "snapshot-id": 1,
                    "statistics": _statistics(f"{theirs.location()}/metadata/x"),
                }
            ],
        ]

        for each in updates:
            answer = lakes.send("POST", "/namespaces/mine/tables/own", {"requirements": [], "updates": each})
            assert answer.status_code in (400, 403, 409), (each, answer.text)

        assert lakes.attacker.load_table("mine.own").metadata == mine.metadata

    def test_a_table_of_another_organization_cannot_be_dropped_or_purged(self, lakes: Lakes) -> None:
        before = lakes.files()

        for path in ("/namespaces/raw/tables/t", "/namespaces/raw/tables/t?purgeRequested=true", "/namespaces/raw"):
            assert lakes.send("DELETE", path).status_code == 404

        assert lakes.files() == before

    def test_a_pointer_from_before_organizations_had_roots_reads_no_foreign_table(self, lakes: Lakes) -> None:
        """Such a pointer remains if a second organization registered the table, and its own organization dropped it."""
        path, id = lakes.table.metadata_location, ResourceId(str(lakes.table.metadata.table_uuid))
        before = lakes.files()
        lakes.victim.drop_table("raw.t")
        database = lakes.beta.control.snapshot.find(("lake", "mine"))
        assert database is not None
        lakes.beta.control.execute(RegisterTable(database.id, id, "stolen", Pointer(id, path)), None)

        assert lakes.send("GET", "/namespaces/mine/tables/stolen").status_code == 403
        assert lakes.send("DELETE", "/namespaces/mine/tables/stolen?purgeRequested=true").status_code == 403
        assert lakes.files() == before

    @pytest.mark.parametrize("place", ["{database}/{id}", "organization/{database}"], ids=["former", "root"])
    def test_a_stolen_table_at_a_former_location_is_not_read_by_its_only_pointer(
        self, lakes: Lakes, place: str
    ) -> None:
        """An earlier version let an organization register a table that another organization had dropped without a purge."""
        path = _in_former_place(lakes, place)
        before = path.read_bytes()
        _register_in_beta(lakes, path)

        answer = lakes.send("GET", "/namespaces/mine/tables/stolen")

        assert answer.status_code == 403, answer.text
        assert "drop the table without a purge" in answer.json()["error"]["message"]
        assert lakes.send("DELETE", "/namespaces/mine/tables/stolen?purgeRequested=true").status_code == 403
        assert lakes.send("DELETE", "/namespaces/mine/tables/stolen").status_code == 204
        assert path.read_bytes() == before

    def test_two_organizations_cannot_register_the_same_table(self, lakes: Lakes) -> None:
        path, id = lakes.table.metadata_location, ResourceId(str(lakes.table.metadata.table_uuid))
        database = lakes.beta.control.snapshot.find(("lake", "mine"))
        assert database is not None

        with pytest.raises(Exception, match="belongs to another table; create the table with a new id"):
            lakes.beta.control.execute(RegisterTable(database.id, id, "stolen", Pointer(id, path)), None)


class TestATableWhoseFilesAreGone:
    def test_a_load_of_a_table_without_its_files_reports_that_a_file_is_gone(self, lakes: Lakes) -> None:
        shutil.rmtree(lakes.table.location().removeprefix("file://"))
        known = {"authorization": f"Bearer {lakes.world.tokens['owner']}"}

        answer = lakes.world.http.get("/iceberg/v1/namespaces/raw/tables/t", headers=known)

        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFoundException")
        assert "a file that the table names does not exist; restore the warehouse" in answer.json()["error"]["message"]
        assert str(lakes.world.deployment.settings.folder) not in answer.text


def _in_former_place(lakes: Lakes, place: str) -> Path:
    """Drop the victim's table and write its metadata to a folder of an earlier version's layout; return the file."""
    table = lakes.table
    _, database, id = table.location().rsplit("/", 2)
    folder = lakes.world.deployment.settings.warehouse / place.format(database=database, id=id)
    emptied = {"snapshots": [], "refs": {}, "current_snapshot_id": None, "snapshot_log": [], "metadata_log": []}
    content = table.metadata.model_copy(update={"location": f"file://{folder}", **emptied})
    lakes.victim.drop_table("raw.t")
    path = folder / "metadata/00000-a.metadata.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content.model_dump_json())
    return path


def _register_in_beta(lakes: Lakes, path: Path) -> None:
    id = ResourceId(json.loads(path.read_text())["table-uuid"])
    database = lakes.beta.control.snapshot.find(("lake", "mine"))
    assert database is not None
    lakes.beta.control.execute(RegisterTable(database.id, id, "stolen", Pointer(id, f"file://{path}")), None)


def _statistics(path: str) -> dict[str, Any]:
    return {
        "snapshot-id": 1,
        "statistics-path": path,
        "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1,
        "blob-metadata": [],
    }
