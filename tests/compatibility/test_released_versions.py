"""Data folders and exports of released versions: they open, pass verification, and give the same answers as before."""

import hashlib
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
from headgate.app.settings.settings import Settings
from headgate.cli.every_command import app
from headgate.control.control import HistoricalView
from headgate.control.deployment import bootstrap
from headgate.control.kernel.model_source import SourcedModel
from headgate.control.kernel.run_queue import RunFilter
from headgate.control.models.change import RequestedModel, build_change, change_model, preview_change
from headgate.control.models.commands import InstallModel
from headgate.control.models.library import load_source
from headgate.control.models.shipped_models import shipped_models
from headgate.control.organizations.organization import Organization
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.lake.containment import path_of
from headgate.lake.relocation import Relocation
from tests.app.deployment_harness import DeploymentHarness, settings_in
from tests.threads import served
from tools.released_data import PASSWORD

RELEASED = sorted((Path(__file__).parent / "released").glob("*.tar.gz"))
TAKEN = {
    "nekt": ("      table: [describe, select]\n", "      table: [describe]\n"),
    "y42": ("      table: [select]\n", ""),
    "onehouse": ('      "lake, database, table": [drop]\n', '      "lake, database": [drop]\n'),
    "datamesh": ("output_port, data_contract, definition, tag", "data_contract, definition, tag"),
}
"""Model -> the text of an action that the next version takes from a role, and the text in its place."""
FIRST_LOG_LINES = [2, 2]
"""The numbers of log lines of the runs in the first archive, which does not state them."""


@dataclass(frozen=True)
class Released:
    """An unpacked archive: `data`, and `answers.json` with the answers of the released version."""

    folder: Path
    former: str
    """The folder in which the released version had it; the exported files still name it."""

    @property
    def answers(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads((self.folder / "answers.json").read_text(encoding="utf-8"))
        return found

    @property
    def organizations(self) -> Mapping[str, Any]:
        """The recorded answers by organization id."""
        found: Mapping[str, Any] = self.answers["organizations"]
        return found


@pytest.fixture(scope="module", params=RELEASED, ids=lambda file: file.name.removesuffix(".tar.gz"))
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Released:
    """The unpacked archive; the paths in its files are rewritten to the new folder."""
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
    """A copy that a test may change, in the folder that its paths name."""
    kept = tmp_path / "kept"
    shutil.copytree(unpacked.folder, kept, symlinks=True)
    yield unpacked
    shutil.rmtree(unpacked.folder)
    shutil.move(kept, unpacked.folder)


def _move_paths(data: Path, relocation: Relocation) -> None:
    old, new = path_of(relocation.old), path_of(relocation.new)
    with closing(sqlite3.connect(data / "headgate.db")) as database, database:
        columns = {row[1] for row in database.execute("PRAGMA table_info(pointers)")}
        for column in columns & {"metadata_location", "previous_location", "place"}:
            database.execute(f"UPDATE pointers SET {column} = replace({column}, ?, ?)", (old, new))
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
        file.write_bytes(relocation.metadata(json.loads(file.read_bytes())))


@pytest.fixture
def deployment(released: Released) -> Iterator[Deployment]:
    opened = open_deployment(settings_in(released.folder))
    yield opened
    opened.close()


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "400", "HEADGATE_SPARK": "0"})


def require_as_it_was(organization: Organization, said: Mapping[str, Any]) -> None:
    """Check that every question has the answer that the released version gave."""
    facts, control = organization.control.snapshot, organization.control
    counts = [len(each) for each in (facts.principals, facts.resources, facts.groups, facts.tokens)]
    assert (facts.revision, facts.model, counts) == (said["revision"], said["model"], said["counts"])
    assert decisions(HistoricalView(control.answers, control.now), said) == [
        allowed for *_, allowed in said["decisions"]
    ]
    assert sum(allowed for *_, allowed in said["decisions"]) > 5
    tables = sorted(".".join(facts.full_name(each.table)) for each in organization.store.pointers())
    assert tables == said["tables"]
    assert sorted(f"{row.pipeline} {row.state}" for row in organization.store.runs(RunFilter())) == said["runs"]


def decisions(view: HistoricalView, said: Mapping[str, Any]) -> list[bool]:
    """Return the answers to the questions that the released version answered."""
    asked = [Question(Caller(PrincipalId(p)), action, ResourceId(on)) for p, action, on, _ in said["decisions"]]
    return [view.answers.check(each, view.now).allowed for each in asked]


def require_tokens(deployment: Deployment, id: str, said: Mapping[str, Any]) -> None:
    """Check that every token is valid in its organization."""
    for token in said["tokens"].values():
        presented = deployment.identity.authenticate(token)
        assert presented is not None
        assert presented.organization == id
        assert deployment.organizations.open(ResourceId(id)).caller(presented) is not None


def require_rows_as_they_were(found: Mapping[tuple[str, str], list[int]], released: Released) -> None:
    """Check that every table has the rows that the released version read."""
    assert found["main", "lake.flights.t"] == found["acme-nekt", "lake.flights.t"]
    for name, rows in released.answers["rows"].items():
        assert found["main", name] == rows


class TestADataFolder:
    def test_a_data_folder_of_an_earlier_version_answers_as_it_did(
        self, released: Released, deployment: Deployment
    ) -> None:
        for id, said in released.organizations.items():
            organization = deployment.organizations.find(said["name"])
            assert organization.id == id
            require_as_it_was(organization, said)
        assert {said["model"] for said in released.organizations.values()} == {"nekt", "y42", "onehouse", "datamesh"}

    def test_a_data_folder_of_an_earlier_version_keeps_its_tokens_and_logins(
        self, released: Released, deployment: Deployment
    ) -> None:
        for id, said in released.organizations.items():
            require_tokens(deployment, id, said)
        login = deployment.auth_services.authentication.log_in("ann", PASSWORD, {})
        assert deployment.auth_services.authentication.principal_of(login.secret) is not None

    def test_a_data_folder_of_an_earlier_version_verifies(self, released: Released) -> None:
        result = run("log", "verify", "--data", released.folder / "data")

        assert result.exit_code == 0, result.output

    def test_a_data_folder_of_an_earlier_version_keeps_its_rows_when_its_tables_are_moved(
        self, released: Released
    ) -> None:
        settings, outside = settings_in(released.folder), _count_tables_outside(released)
        before = _rows(settings, released)
        moved = run("warehouse", "move", "--data", released.folder / "data")

        assert moved.exit_code == 0, moved.output
        assert (f"{outside} were moved, 0 were not" if outside else "there is nothing to move") in moved.output
        assert _count_tables_outside(released) == 0
        assert _rows(settings, released) == before
        require_rows_as_they_were(before, released)


def next_version(source: str) -> SourcedModel:
    """Return the next version of a model, in which a role lacks one action."""
    model = load_source(source, "model.yaml").model
    taken = source.replace(*TAKEN[model.name], 1)
    assert taken != source
    return load_source(taken.replace(f"version: {model.version}", f"version: {model.version + 1}", 1), "model.yaml")


def upgrade(deployment: Deployment, said: Mapping[str, Any], version: int | None = None) -> list[bool]:
    """Let the current or another version of its model decide in an organization; return the changed decisions."""
    organization = deployment.organizations.find(said["name"])
    wanted = RequestedModel(said["model"], version, is_upgrade=True)
    shown = preview_change(organization, build_change(deployment.organizations, organization, wanted))
    change_model(deployment.organizations, organization, wanted, shown.confirmation)
    assert organization.control.snapshot.revision == shown.facts.revision + 1
    return [each.allowed for each in shown.impact.flips()]


class TestAnUpgradeOfAModel:
    def require_upgrade_and_return(self, released: Released) -> None:
        """Upgrade every organization and open the data folder again; then go back, and require the former decisions."""
        with closing(open_deployment(settings_in(released.folder))) as deployment:
            former = {
                id: deployment.organizations.find(said["name"]).control.model.version
                for id, said in released.organizations.items()
            }
            for said in released.organizations.values():
                assert set(upgrade(deployment, said)) == {False}
        with closing(open_deployment(settings_in(released.folder))) as deployment:
            for id, said in released.organizations.items():
                control = deployment.organizations.find(said["name"]).control
                expected = [allowed for *_, allowed in said["decisions"]]
                assert control.model.version == former[id] + 1
                assert decisions(control.past(said["revision"]), said) == expected
                assert set(upgrade(deployment, said, former[id])) == {True}
                assert decisions(HistoricalView(control.answers, control.now), said) == expected
        verified = run("log", "verify", "--data", released.folder / "data")
        assert verified.exit_code == 0, verified.output

    def test_an_organization_of_an_earlier_version_gets_the_next_version_of_its_model_and_its_former_one_again(
        self, released: Released
    ) -> None:
        with closing(open_deployment(settings_in(released.folder))) as deployment:
            for said in released.organizations.values():
                known = deployment.organizations.find(said["name"]).control.model.hash
                source = deployment.organizations.models.find(known)
                assert source is not None
                command = InstallModel(next_version(source.source))
                deployment.organizations.deployment.control.execute(command, None)

        self.require_upgrade_and_return(released)

    def test_an_organization_keeps_its_model_when_headgate_has_a_new_version_and_is_upgraded_and_brought_back(
        self, released: Released, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        new = tuple(next_version(each.source) for each in shipped_models())
        monkeypatch.setattr(bootstrap, "shipped_models", lambda: new)

        with closing(open_deployment(settings_in(released.folder))) as deployment:
            for said in released.organizations.values():
                require_as_it_was(deployment.organizations.find(said["name"]), said)
        self.require_upgrade_and_return(released)


class TestAnExport:
    @pytest.fixture
    def imported(self, released: Released, tmp_path: Path) -> Settings:
        """A deployment that was created by importing the former home organization, and that imported the others."""
        settings = settings_in(tmp_path / "new")
        for said in released.organizations.values():
            file, files = _export(released, said["name"]), released.folder / "data" / "warehouse"
            words = ("--name", said["name"], "--files", files, "--data", settings.folder)
            taken = run("organization", "import", file, *words)
            assert taken.exit_code == 0, taken.output
        return settings

    def test_an_imported_export_answers_as_before(self, released: Released, imported: Settings) -> None:
        with closing(open_deployment(imported)) as deployment:
            assert deployment.home.id == "organization"
            for id, said in released.organizations.items():
                require_as_it_was(deployment.organizations.find(id), said)
                require_tokens(deployment, id, said)

        assert run("log", "verify", "--data", imported.folder).exit_code == 0

    def test_an_imported_export_keeps_runs_and_pipelines(self, released: Released, imported: Settings) -> None:
        with (
            closing(open_deployment(settings_in(released.folder))) as former,
            closing(open_deployment(imported)) as deployment,
        ):
            runs, pipelines = _kept(deployment.home)

            assert (runs, pipelines) == _kept(former.home)
            counts = released.organizations[former.home.id].get("log_lines", FIRST_LOG_LINES)
            assert len(runs) == len(FIRST_LOG_LINES)
            assert [len(lines) for _, lines in runs] == counts
            assert [each["sql"] for each in pipelines] == [
                "SELECT part, sum(n) AS total FROM lake.flights.t GROUP BY part"
            ]

    def test_an_imported_export_keeps_its_rows(self, released: Released, imported: Settings) -> None:
        imported.owner_token.write_text(released.organizations["organization"]["tokens"]["owner"], encoding="utf-8")

        require_rows_as_they_were(_rows(imported, released), released)


def _export(released: Released, name: str) -> Path:
    """Return the export of an organization, with the new paths of its tables."""
    file = released.folder / f"{name}.jsonl"
    *lines, _ = file.read_text(encoding="utf-8").splitlines(keepends=True)
    former, now = f"{released.former}/data/warehouse", f"{released.folder}/data/warehouse"
    moved = [line.replace(former, now) if line.startswith('{"pointer":') else line for line in lines]
    end = {"end": {"lines": len(moved), "sha256": hashlib.sha256("".join(moved).encode()).hexdigest()}}
    file.write_text("".join((*moved, json.dumps(end))), encoding="utf-8")
    return file


def _count_tables_outside(released: Released) -> int:
    """Return the number of tables whose files are outside the folder of their organization, as they were in the first archive."""
    with closing(sqlite3.connect(released.folder / "data" / "headgate.db")) as database:
        inside = "instr(metadata_location, '/data/warehouse/' || log_id || '/')"
        (count,) = database.execute(f"SELECT count(*) FROM pointers WHERE {inside} = 0").fetchone()
    return int(count)


def _kept(organization: Organization) -> tuple[list[Any], list[Mapping[str, Any]]]:
    """Return the runs of an organization with their log lines, and its pipelines."""
    store = organization.store
    runs = [(row, store.log_lines(row.run)) for row in store.runs(RunFilter())]
    return runs, list(store.documents("pipeline").values())


def _rows(settings: Settings, released: Released) -> dict[tuple[str, str], list[int]]:
    """Return the values of `n` of every table, read by a client of the catalog."""
    deployment, found = open_deployment(settings), dict[tuple[str, str], list[int]]()
    try:
        world = DeploymentHarness(deployment)
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
