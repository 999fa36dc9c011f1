"""Tables of an earlier version are moved into the folders of their organizations, with all their contents."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType
from typer.testing import CliRunner

from headgate.app.deployment import open_deployment
from headgate.app.relocations import Relocations
from headgate.cli.every_command import app
from headgate.control.kernel.ports import LogWrite, Pointer, PointerConflictError
from headgate.facts.changes import ResourceDeleted
from headgate.facts.ids import ResourceId
from headgate.lake import warehouse
from headgate.lake.containment import path_of
from headgate.lake.errors import RuleError
from headgate.lake.metadata_files import location_of
from tests.app.deployment_harness import DeploymentHarness, settings_in, world_in
from tests.lake.hostile_manifest_lists import crashing
from tests.threads import served

SCHEMA = Schema(NestedField(1, "n", LongType()), NestedField(2, "part", StringType()))
BY_PART = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "part"))


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": list(numbers), "part": [f"p{each % 2}" for each in numbers]})


def catalog(world: DeploymentHarness, address: str, token: str) -> RestCatalog:
    return RestCatalog("any", uri=f"{world.http.base_url}{address}/iceberg", token=token)


class Former:
    """A deployment with the layout of an earlier version, in which the tables of two organizations share a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = settings_in(folder).folder
        self.contents: dict[str, Any] = {}

    def fill(self, world: DeploymentHarness) -> None:
        """Create the tables of both organizations."""
        beta = world.organization("beta", "nekt")
        self.beta, self.tokens = beta.opened.id, {"": world.tokens["owner"], "/o/beta": beta.tokens["owner"]}
        for address in self.tokens:
            lake = catalog(world, address, self.tokens[address])
            lake.create_namespace_if_not_exists("raw")
            table = lake.create_table("raw.t", SCHEMA, partition_spec=BY_PART)
            for first in (0, 10, 20):
                table.append(rows(*range(first, first + 10)))
            table.delete("n > 24")
            lake.create_table("raw.empty", SCHEMA)
            self.contents[address] = self.read(world, address)

    def read(self, world: DeploymentHarness, address: str) -> Any:
        """Return every row of every snapshot, the record counts of the table's files, and its UUID."""
        table = catalog(world, address, self.tokens[address]).load_table("raw.t")
        snapshots = [each.snapshot_id for each in table.snapshots()]
        past = {each: sorted(table.scan(snapshot_id=each).to_arrow().to_pylist(), key=str) for each in snapshots}
        files = [(each.file.record_count, each.file.partition[0]) for each in table.scan().plan_files()]
        return past, sorted(files), table.metadata.table_uuid


@pytest.fixture
def former(tmp_path: Path) -> Former:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warehouse, "organization_root", lambda root, _: root)
        with world_in(tmp_path) as world:
            made = Former(tmp_path)
            made.fill(world)
    return made


@contextmanager
def again(former: Former) -> Iterator[DeploymentHarness]:
    """Serve the deployment again."""
    deployment = open_deployment(settings_in(former.folder))
    try:
        world = DeploymentHarness(deployment)
        with served(world.app) as address, world.http:
            world.http.base_url = httpx.URL(address)
            yield world
    finally:
        deployment.close()


@contextmanager
def relocations_of(former: Former) -> Iterator[Relocations]:
    deployment = open_deployment(settings_in(former.folder))
    try:
        yield Relocations(deployment.organizations, deployment.settings.warehouse)
    finally:
        deployment.close()


def require_whole(former: Former) -> None:
    """Check that every table is readable in every snapshot, and can be written, dropped, registered and purged."""
    with again(former) as world:
        for address, content in former.contents.items():
            assert former.read(world, address) == content
            lake = catalog(world, address, former.tokens[address])
            lake.load_table("raw.t").append(rows(100))
            path = lake.load_table("raw.t").metadata_location
            lake.drop_table("raw.t")
            assert lake.register_table("raw.t", path).scan().to_arrow().num_rows == 26
            for name in ("raw.t", "raw.empty"):
                lake.purge_table(name)


def files(former: Former) -> list[Path]:
    return [each for each in (former.data / "warehouse").rglob("*") if each.is_file()]


def test_tables_of_every_organization_are_moved_with_their_snapshots(former: Former) -> None:
    with relocations_of(former) as found:
        waiting = list(found.list_waiting())
        assert sorted(each.name for each in waiting) == ["lake.raw.empty"] * 2 + ["lake.raw.t"] * 2
        for each in waiting:
            found.move(each)
        assert list(found.list_waiting()) == []

    roots = {each.relative_to(former.data / "warehouse").parts[0] for each in files(former)}
    assert roots == {"organization", former.beta}
    require_whole(former)
    assert files(former) == []


def test_tables_that_are_not_moved_can_be_read_and_written_and_not_purged(former: Former) -> None:
    with again(former) as world:
        for address, content in former.contents.items():
            lake = catalog(world, address, former.tokens[address])
            assert former.read(world, address) == content
            lake.load_table("raw.t").append(rows(100))
            with pytest.raises(Exception, match="not in the organization's folder of the warehouse"):
                lake.purge_table("raw.t")


LATER_STEPS = ("read_relocated", "_write", "_sync", "shutil.rmtree")
"""The other steps of a move at which it can be interrupted."""


@pytest.mark.parametrize("last", ["_link_all", *(pytest.param(each, marks=pytest.mark.soak) for each in LATER_STEPS)])
def test_an_interrupted_move_can_be_repeated(former: Former, last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with relocations_of(former) as found, monkeypatch.context() as patch:
        patch.setattr(f"headgate.app.relocations.{last}", _interrupted)
        for each in list(found.list_waiting()):
            with pytest.raises(KeyboardInterrupt):
                found.move(each)

    with relocations_of(former) as found:
        for each in list(found.list_waiting()):
            found.move(each)
        assert found.remove_leftovers() == (4 if last == "shutil.rmtree" else 0)
    require_whole(former)
    assert files(former) == []


def test_a_table_with_a_concurrent_commit_is_not_moved(former: Former) -> None:
    with again(former) as world:
        found = Relocations(world.deployment.organizations, world.deployment.settings.warehouse)
        waiting = {(each.organization.id, each.name): each for each in found.list_waiting()}
        lake = catalog(world, "", former.tokens[""])
        lake.load_table("raw.t").append(rows(100))

        with pytest.raises(PointerConflictError):
            found.move(waiting[world.opened.id, "lake.raw.t"])

        assert lake.load_table("raw.t").scan().to_arrow().num_rows == 26


def test_a_table_with_a_link_among_its_files_is_not_moved(former: Former) -> None:
    for each in {each.parent for each in files(former) if each.suffix == ".parquet"}:
        (each / "link.parquet").symlink_to("/etc/passwd")

    with relocations_of(former) as found:
        table = next(each for each in found.list_waiting() if each.name == "lake.raw.t")
        with pytest.raises(RuleError, match="is a symbolic link; replace it by the file"):
            found.move(table)


def test_a_table_that_names_files_of_another_is_not_moved(former: Former) -> None:
    def told(path: str) -> bytes:
        return json.dumps({"location": "x", "metadata-log": [{"metadata-file": path}]}).encode()

    with relocations_of(former) as found:
        one, other = list(found.list_waiting())[:2]
        Path(path_of(one.pointer.metadata_location)).write_bytes(told(other.pointer.metadata_location))

        with pytest.raises(RuleError, match="the table has a file outside of its location"):
            found.move(one)


def test_a_table_with_files_that_crash_the_reader_is_reported_and_the_others_are_moved(former: Former) -> None:
    with relocations_of(former) as found:
        hostile = next(each for each in found.list_waiting() if each.name == "lake.raw.t")
    for each in Path(path_of(hostile.relocation.old)).rglob("snap-*.avro"):
        each.write_bytes(crashing())

    result = CliRunner().invoke(app, ["warehouse", "move", "--data", str(former.data)], env={"COLUMNS": "400"})

    assert result.exit_code == 1, result.output
    assert "3 were moved, 1 were not" in result.output
    assert "not moved: the table's files could not be read" in result.output
    with relocations_of(former) as found:
        assert [each.pointer.table for each in found.list_waiting()] == [hostile.pointer.table]


def test_a_folder_in_the_root_of_an_organization_is_no_leftover_of_another(former: Former) -> None:
    """A table's location may claim that its database has another organization's id as its name."""
    with relocations_of(former) as found:
        for each in list(found.list_waiting()):
            found.move(each)
        table, database, _ = first_table(found)
        register_in_beta(former, found, f"organization/{database}")
        before = files(former)

        assert found.remove_leftovers() == 0

    assert files(former) == before
    assert any(table.table in each.parts for each in before)


def test_the_former_folder_of_another_organizations_table_is_no_leftover(former: Former) -> None:
    """An imported log may give a table the id of another organization's table."""
    with relocations_of(former) as found:
        table, database, id = first_table(found)
        register_in_beta(former, found, f"{database}/{id}")
        before = files(former)

        assert found.remove_leftovers() == 0
        home = found._organizations.find("organization").store
        home.append(home.head(), LogWrite(0.0, None, "table.drop", (ResourceDeleted(table.table),)))
        assert found.remove_leftovers() == 0
        mark = former.data / "warehouse" / database / id / ".moved"
        mark.write_text("organization")
        assert found.remove_leftovers() == 0

    assert set(files(former)) == {*before, mark}


@pytest.mark.parametrize("place", ["former", "root"])
def test_a_table_is_not_moved_by_an_organization_that_stole_its_pointer(former: Former, place: str) -> None:
    """An earlier version let an organization register a table that another organization had dropped without a purge."""
    with relocations_of(former) as found:
        table, database, id = first_table(found)
        home = found._organizations.find("organization").store
        home.append(home.head(), LogWrite(0.0, None, "table.drop", (ResourceDeleted(table.table),)))
        point_from_beta(former, found, f"{database}/{id}" if place == "former" else f"organization/{database}")
        before = files(former)
        stolen = next(each for each in found.list_waiting() if each.pointer.table == "crafted")

        with pytest.raises(RuleError, match="not in the organization's folder of the warehouse"):
            found.move(stolen)

    assert files(former) == before


def test_a_table_belongs_to_its_organization_after_its_former_database_is_dropped(former: Former) -> None:
    with again(former) as world:
        lake = catalog(world, "", former.tokens[""])
        lake.create_namespace("other")
        for name in ("t", "empty"):
            lake.rename_table(f"raw.{name}", f"other.{name}")
        lake.drop_namespace("raw")
        assert lake.load_table("other.t").scan().to_arrow().num_rows == 25

    with relocations_of(former) as found:
        for each in list(found.list_waiting()):
            found.move(each)

    with again(former) as world:
        assert catalog(world, "", former.tokens[""]).load_table("other.t").scan().to_arrow().num_rows == 25


def first_table(found: Relocations) -> tuple[Pointer, str, str]:
    """Return a table of the home organization, and the names of its folders."""
    table = next(found._organizations.find("organization").store.pointers())
    database, id = location_of(table.metadata_location).split("/")[-2:]
    return table, database, id


def register_in_beta(former: Former, found: Relocations, place: str) -> None:
    """Add a pointer to a folder below the other organization's root to the other organization."""
    point_from_beta(former, found, f"{former.beta}/{place}")


def point_from_beta(former: Former, found: Relocations, place: str) -> None:
    """Add a pointer to a folder of the warehouse to the other organization."""
    beta = found._organizations.find(former.beta).store
    path = f"file://{former.data}/warehouse/{place}/metadata/0.metadata.json"
    pointer = Pointer(ResourceId("crafted"), path)
    beta.append(beta.head(), LogWrite(0.0, None, "table.create", (), pointers=(pointer,)))


def _interrupted(*_: Any) -> None:
    raise KeyboardInterrupt
