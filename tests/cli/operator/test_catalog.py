"""`headgate catalog import`: tables of another catalog become tables here, and whatever must not is refused."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import LongType, NestedField
from typer.testing import CliRunner

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.http.lakes import Lakes, warehouse_of
from headgate.app.settings.settings import Settings
from headgate.cli.every_command import app
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization
from headgate.facts.changes import RoleAssigned
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.lake.errors import RuleError

SCHEMA = Schema(NestedField(1, "n", LongType()))
ROWS = pa.table({"n": [1, 2]})


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("here")
    return Settings(folder=folder / "data", cache=folder / "cache", jars_folder=None, spark=False)


@pytest.fixture(scope="module")
def properties(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("there")
    return {"type": "sql", "uri": f"sqlite:///{folder}/other.db", "warehouse": f"file://{folder}/files"}


@pytest.fixture(scope="module")
def other(properties: dict[str, str]) -> Iterator[Catalog]:
    """Three good tables, one of them of format version 1, and one each of what must not be taken."""
    made = load_catalog("other", **properties)
    for database in ("raw", "odd"):
        made.create_namespace(database)
    made.create_table("raw.flights", SCHEMA).append(ROWS)
    made.create_table("raw.empty", SCHEMA)
    made.create_table("raw.moved", SCHEMA, properties={"write.data.path": f"{properties['warehouse']}/elsewhere"})
    made.create_table("raw.old", SCHEMA, properties={"format-version": "1"}).append(ROWS)
    no_bucket = PartitionSpec(PartitionField(1, 1000, BucketTransform(0), "x"))
    made.create_table("raw.unreadable", SCHEMA, partition_spec=no_bucket)
    stolen = made.create_table("raw.stolen", SCHEMA)
    theirs = next(iter(made.load_table("raw.flights").scan().plan_files())).file.file_path
    stolen.add_files([theirs])
    lost = made.create_table("raw.lost", SCHEMA)
    lost.append(ROWS)
    shutil.rmtree(lost.location().removeprefix("file://"))
    made.register_table("odd.again", made.load_table("raw.flights").metadata_location)
    yield made
    made.close()


def _run(settings: Settings, properties: dict[str, str], *more: str) -> str:
    sources = [part for key, value in properties.items() for part in ("--from", f"{key}={value}")]
    arguments = ["catalog", "import", *sources, "--data", str(settings.folder), *more]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "400", "HEADGATE_SPARK": "0"})
    assert result.exit_code == 1, result.output
    return result.output


@pytest.fixture
def deployment(settings: Settings) -> Iterator[Deployment]:
    made = open_deployment(settings)
    yield made
    made.close()


@pytest.mark.usefixtures("other")
def test_a_dry_run_imports_nothing_and_reports_what_an_import_does(
    settings: Settings, properties: dict[str, str]
) -> None:
    open_deployment(settings).close()

    shown = _run(settings, properties, "--dry-run")
    taken = _run(settings, properties)

    assert "3 would be imported, 5 refused" in shown
    assert "3 were imported, 5 refused" in taken
    for said in (
        "Headgate chooses where a table's files are",
        "a file outside of the table's location",
        "overlaps that of another table",
        "its number must be above 0",
    ):
        assert said in shown
        assert said in taken
    # What is there already is not taken twice.
    assert "0 were imported, 8 refused" in _run(settings, properties)


@pytest.mark.usefixtures("other")
def test_an_import_requires_an_organization_if_there_are_several(properties: dict[str, str], tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path / "data", cache=tmp_path / "cache", jars_folder=None, spark=False)
    with closing(open_deployment(settings)) as deployment:
        founding = OrganizationSpec(ResourceId("o1"), "acme", PrincipalId("p1"), "ann", "nekt")
        acme = create_organization(deployment.organizations, founding)
        revisions = [each.control.snapshot.revision for each in (deployment.home, acme)]

    refused = _run(settings, properties)

    assert "choose the one that receives the tables: `--organization acme` or `--organization main`" in refused
    assert "there is no organization `globex`" in _run(settings, properties, "--organization", "globex")
    assert "3 were imported, 5 refused" in _run(settings, properties, "--organization", "acme")
    with closing(open_deployment(settings)) as deployment:
        assert deployment.home.control.snapshot.revision == revisions[0]
        assert deployment.organizations.find("acme").control.snapshot.revision > revisions[1]


def test_a_table_in_the_warehouse_of_headgate_is_not_imported(settings: Settings, tmp_path: Path) -> None:
    open_deployment(settings).close()
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/other.db", "warehouse": f"file://{tmp_path}/files"}
    made = load_catalog("other", **properties)
    made.create_namespace("raw")
    for root in ("organization/d1/t1", "acme/d1/t1", "d1/t1"):
        location = f"file://{settings.warehouse}/{root}"
        made.create_table(f"raw.{root.replace('/', '_')}", SCHEMA, location=location).append(ROWS)
    made.close()

    said = _run(settings, properties)

    assert "0 were imported, 3 refused" in said
    assert said.count("the table's location overlaps Headgate's own warehouse") == 3


@pytest.mark.usefixtures("other")
def test_an_imported_table_of_format_version_1_keeps_its_version(settings: Settings, deployment: Deployment) -> None:
    table = deployment.home.control.snapshot.find(("lake", "raw", "old"))
    assert table is not None

    lake = Lakes(partial(warehouse_of, settings), lambda: 0.0).of(deployment.home)
    loaded = lake.tables.load(table.id)

    assert (loaded.metadata.format_version, len(loaded.metadata.snapshots)) == (1, 1)


@pytest.mark.usefixtures("other")
def test_an_imported_table_has_no_creator_and_no_assignments(settings: Settings, deployment: Deployment) -> None:
    facts = deployment.home.control.snapshot
    table = facts.find(("lake", "raw", "flights")) or facts.find(("lake", "odd", "again"))
    assert table is not None

    lake = Lakes(partial(warehouse_of, settings), lambda: 0.0).of(deployment.home)
    loaded = lake.tables.load(table.id)

    assert loaded.metadata.location.endswith(("/raw/flights", "/raw.db/flights"))
    assert str(loaded.metadata.table_uuid) == table.id
    assert table.creator is None
    changes = [change for entry in deployment.home.store.entries() for change in entry.changes]
    assert not [each for each in changes if isinstance(each, RoleAssigned) and each.resource == table.id]
    with pytest.raises(RuleError, match="not in the organization's folder"):
        lake.tables.check_purge(loaded)
