"""A data folder and exports that an earlier version wrote: they open, verify and answer as they did."""

import json
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyiceberg.catalog.rest import RestCatalog
from typer.testing import CliRunner

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.settings import Settings
from headgate.cli import app
from headgate.control.organization import Organization
from headgate.control.queue import RunWanted
from headgate.decision.records import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.lake.relocation import Relocation
from tests.app.world import World, settings_in
from tests.threads import served

RELEASED = sorted((Path(__file__).parent / "released").glob("*.tar.gz"))
PASSWORD = "correct horse battery"  # noqa: S105 (that of the users in the data folder)


@dataclass(frozen=True)
class Released:
    """What an archive holds, in a folder of the test's: `data`, and `answers.json` with what that version answered."""

    folder: Path
    former: str
    """Where that version had it, as exported files still say."""

    @property
    def answers(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads((self.folder / "answers.json").read_text(encoding="utf-8"))
        return found

    @property
    def organizations(self) -> Mapping[str, Any]:
        """The answers by the ids of organizations."""
        found: Mapping[str, Any] = self.answers["organizations"]
        return found


@pytest.fixture(scope="module", params=RELEASED, ids=lambda file: file.name.partition(".")[0])
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Released:
    """The archive, unpacked; every path in it says where it is now."""
    folder = tmp_path_factory.mktemp("released")
    with tarfile.open(request.param) as archive:
        archive.extractall(folder, filter="data")
    (found,) = folder.iterdir()
    released = Released(found, f"/tmp/{found.name}")  # noqa: S108 (a text in the files)
    _move_paths(
        found / "data", Relocation(f"file://{released.former}/data/warehouse", f"file://{found}/data/warehouse")
    )
    return released


@pytest.fixture
def released(unpacked: Released, tmp_path: Path) -> Iterator[Released]:
    """A copy that a test may change; it lies where its paths say."""
    kept = tmp_path / "kept"
    shutil.copytree(unpacked.folder, kept, symlinks=True)
    yield unpacked
    shutil.rmtree(unpacked.folder)
    shutil.move(kept, unpacked.folder)


def _move_paths(data: Path, relocation: Relocation) -> None:
    with closing(sqlite3.connect(data / "headgate.db")) as database, database:
        for column in ("metadata_location", "previous_location"):
            database.execute(
                f"UPDATE pointers SET {column} = replace({column}, ?, ?)",
                (relocation.old, relocation.new),
            )
    deletes, sizes = list((data / "warehouse").rglob("*-deletes.parquet")), dict[str, int]()
    for file in deletes:
        file.write_bytes(relocation.position_deletes(file.read_bytes()))
        sizes[f"file://{file}"] = file.stat().st_size
    lengths = dict[str, int]()
    for file in sorted((data / "warehouse").rglob("*.avro"), key=lambda each: each.name.startswith("snap-")):
        moved = relocation.manifest_list if file.name.startswith("snap-") else relocation.manifest
        file.write_bytes(moved(file.read_bytes(), lengths if file.name.startswith("snap-") else sizes))
        lengths[f"file://{file}"] = file.stat().st_size
    for file in (data / "warehouse").rglob("*.metadata.json"):
        file.write_bytes(relocation.metadata(file.read_bytes()))


@pytest.fixture
def deployment(released: Released) -> Iterator[Deployment]:
    opened = open_deployment(settings_in(released.folder))
    yield opened
    opened.close()


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "400", "HEADGATE_SPARK": "0"})


def require_as_it_was(organization: Organization, said: Mapping[str, Any]) -> None:
    """Every question has the answer that the earlier version gave."""
    facts, control = organization.control.snapshot, organization.control
    counts = [len(each) for each in (facts.principals, facts.resources, facts.groups, facts.tokens)]
    assert (facts.revision, facts.model, counts) == (said["revision"], said["model"], said["counts"])
    asked = [Question(Caller(PrincipalId(p)), action, ResourceId(on)) for p, action, on, _ in said["decisions"]]
    assert [control.ask(each).allowed for each in asked] == [allowed for *_, allowed in said["decisions"]]
    assert sum(allowed for *_, allowed in said["decisions"]) > 5
    tables = sorted(".".join(facts.full_name(each.table)) for each in organization.store.pointers())
    assert tables == said["tables"]
    assert sorted(f"{row.pipeline} {row.state}" for row in organization.store.runs(RunWanted())) == said["runs"]


class TestADataFolder:
    def test_of_an_earlier_version_answers_as_it_did(self, released: Released, deployment: Deployment) -> None:
        for id, said in released.organizations.items():
            organization = deployment.organizations.find(said["name"])
            assert organization.id == id
            require_as_it_was(organization, said)
        assert {said["model"] for said in released.organizations.values()} == {"nekt", "y42", "onehouse", "datamesh"}

    def test_of_an_earlier_version_keeps_its_tokens_and_logins(
        self, released: Released, deployment: Deployment
    ) -> None:
        for id, said in released.organizations.items():
            for token in said["tokens"].values():
                presented = deployment.identity.authenticate(token)
                assert presented is not None
                assert presented.organization == id
                assert deployment.organizations.open(ResourceId(id)).caller(presented) is not None
        login = deployment.entrance.logins.log_in("ann", PASSWORD, {})
        assert deployment.entrance.logins.principal_of(login.secret) is not None

    def test_of_an_earlier_version_verifies(self, released: Released) -> None:
        result = run("log", "verify", "--data", released.folder / "data")

        assert result.exit_code == 0, result.output

    def test_of_an_earlier_version_has_its_rows_before_and_after_its_tables_are_moved(self, released: Released) -> None:
        before = _rows(released)
        moved = run("warehouse", "move", "--data", released.folder / "data")

        assert moved.exit_code == 0, moved.output
        assert "7 were moved, 0 were not" in moved.output
        assert _rows(released) == before
        assert before["main", "lake.flights.t"] == before["acme-nekt", "lake.flights.t"]
        for name, rows in released.answers["rows"].items():
            assert before["main", name] == rows


class TestAnExport:
    def test_of_an_earlier_version_answers_as_it_did(self, released: Released, tmp_path: Path) -> None:
        there = tmp_path / "new"
        open_deployment(Settings(there, tmp_path / "cache", None)).close()
        for id, said in released.organizations.items():
            if id == "organization":
                continue
            file = released.folder / f"{said['name']}.jsonl"
            files = f"{released.former}/data/warehouse"
            taken = run("organization", "import", file, "--name", said["name"], "--files", files, "--data", there)
            assert taken.exit_code == 0, taken.output

        deployment = open_deployment(Settings(there, tmp_path / "cache", None))
        for id, said in released.organizations.items():
            if id != "organization":
                require_as_it_was(deployment.organizations.find(id), said)
        deployment.close()
        assert run("log", "verify", "--data", there).exit_code == 0


def _rows(released: Released) -> dict[tuple[str, str], list[int]]:
    """Return the values of `n` of every table, as a client of the catalog reads them."""
    deployment, found = open_deployment(settings_in(released.folder)), dict[tuple[str, str], list[int]]()
    try:
        world = World(deployment)
        with served(world.app) as address, world.http:
            world.http.base_url = httpx.URL(address)
            for id, said in released.organizations.items():
                token = said["tokens"]["owner"]
                catalog = RestCatalog("any", uri=f"{address}/o/{id}/iceberg", token=token)
                for name in said["tables"]:
                    if name not in ("lake.flights.seen", "lake.trusted.totals"):
                        rows = catalog.load_table(name.removeprefix("lake.")).scan().to_arrow()
                        found[said["name"], name] = sorted(rows.column("n").to_pylist())
    finally:
        deployment.close()
    return found
