"""Organizations and operators, managed on the deployment's own machine."""

import errno
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.app.settings.settings import default_settings
from headgate.cli.every_command import app
from headgate.control.deployment.bootstrap import open_organizations
from headgate.control.models.library import FixedModels
from headgate.control.models.shipped_models import shipped_model
from headgate.control.organizations.commands import CreateDeployment
from headgate.control.organizations.organization import Organizations
from headgate.control.resources.commands import CreateResource
from headgate.facts.ids import ResourceId
from headgate.store import open_stores
from tests.cli.deployments import deployment_in


def run(folder: Path, *words: str | Path) -> Result:
    return CliRunner().invoke(app, [*(str(word) for word in words), "--data", str(folder)])


def done(folder: Path, *words: str | Path) -> str:
    result = run(folder, *words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with the user `ada` of the deployment, who owns the organization `acme`."""
    folder = tmp_path / "data"
    with deployment_in(folder) as deployment:
        deployment.auth_services.authentication.register("ada", login="ada")
    done(folder, "organization", "create", "acme", "--owner", "ada")
    return folder


def id_of(folder: Path, name: str = "acme") -> ResourceId:
    with deployment_in(folder) as deployment:
        return deployment.organizations.resolve_listed_id(name)


def filled(folder: Path, id: ResourceId) -> list[Path]:
    """Write one file of 10 bytes into each folder of an organization."""
    files = [folder / root / id / "deep" / "file" for root in ("warehouse", "checkpoints", "scratch")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_bytes(b"0123456789")
    return files


class TestCreate:
    def test_a_created_organization_is_listed(self, folder: Path) -> None:
        done(folder, "organization", "create", "beta", "--owner", "ada", "--model", "onehouse", "--tree", "datamesh")

        shown = done(folder, "organization", "list")

        assert re.search(r"acme +nekt +active +20\d\d-", shown)
        assert re.search(r"beta +onehouse +active +20\d\d-", shown)
        with deployment_in(folder) as deployment:
            facts = deployment.organizations.find("beta").control.snapshot
            owner = deployment.auth_services.authentication.user_of("ada").principal
        assert owner in facts.principals
        assert "datamesh" in facts.governs.values()

    def test_a_dry_run_creates_no_organization(self, folder: Path) -> None:
        said = done(folder, "organization", "create", "beta", "--owner", "ada", "--dry-run")

        assert said == "`beta` would be created\n"
        assert "beta" not in done(folder, "organization", "list")

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("beta", "--owner", "nosuch"), "there is no user with the login name `nosuch`"),
            (("acme", "--owner", "ada"), "`acme` exists already; choose another name"),
            (("beta", "--owner", "ada", "--model", "deployment"), "the access model `deployment` is not installed"),
            (("organization", "--owner", "ada"), "`organization` is the id of another resource; choose another name"),
            (("deployment", "--owner", "ada"), "`deployment` is the id of another resource; choose another name"),
            (
                (f"o_{'0' * 32}", "--owner", "ada"),
                "it has the form of an id and could be confused with the object that has that id",
            ),
        ],
    )
    def test_an_organization_with_an_invalid_owner_name_or_model_is_not_created(
        self, folder: Path, words: tuple[str, ...], said: str
    ) -> None:
        result = run(folder, "organization", "create", *words)

        assert (result.exit_code, said in result.stderr) == (1, True), result.stderr


class TestSuspend:
    def test_the_list_shows_suspended_and_resumed_organizations(self, folder: Path) -> None:
        done(folder, "organization", "suspend", "acme", "--reason", "unpaid", "--dry-run")
        assert "suspended" not in done(folder, "organization", "list")

        done(folder, "organization", "suspend", "acme", "--reason", "unpaid")
        assert re.search(r"acme +nekt +suspended", done(folder, "organization", "list"))

        assert done(folder, "organization", "resume", id_of(folder)) == f"`acme` ({id_of(folder)}) is active\n"
        assert re.search(r"acme +nekt +active", done(folder, "organization", "list"))

    def test_a_suspended_organization_stays_suspended_after_an_import(self, folder: Path, tmp_path: Path) -> None:
        done(folder, "organization", "suspend", "acme", "--reason", "unpaid")
        done(folder, "organization", "export", id_of(folder), tmp_path / "file")

        done(tmp_path / "other", "organization", "import", tmp_path / "file", "--name", "acme")

        assert re.search(r"acme +nekt +suspended", done(tmp_path / "other", "organization", "list"))
        done(tmp_path / "other", "organization", "resume", "acme")
        assert re.search(r"acme +nekt +active", done(tmp_path / "other", "organization", "list"))

    @pytest.mark.parametrize("verb", [("suspend", "--reason", "x"), ("resume",), ("delete", "--yes")])
    def test_an_unknown_organization_is_refused(self, folder: Path, verb: tuple[str, ...]) -> None:
        result = run(folder, "organization", verb[0], "nosuch", *verb[1:])

        assert (
            result.exit_code,
            "there is no organization `nosuch`; `headgate organization list`" in result.stderr,
        ) == (1, True), result.stderr

    @pytest.mark.parametrize("why", ["", " "])
    def test_suspending_an_organization_requires_a_reason(self, folder: Path, why: str) -> None:
        result = run(folder, "organization", "suspend", "acme", "--reason", why)

        assert (result.exit_code, "`--reason` is empty" in result.stderr) == (2, True)


class TestFile:
    def test_an_organization_is_exported_by_its_name(self, folder: Path, tmp_path: Path) -> None:
        done(folder, "organization", "export", "acme", tmp_path / "file")

        assert id_of(folder) in (tmp_path / "file").read_text().splitlines()[0]

    def test_an_import_into_an_empty_folder_says_that_a_deployment_began(self, folder: Path, tmp_path: Path) -> None:
        done(folder, "organization", "export", "acme", tmp_path / "file")
        new = tmp_path / "new"

        assert f"created a new deployment in `{new}`" in done(new, "organization", "import", tmp_path / "file")

    def test_an_import_with_a_missing_folder_of_files_warns_of_it(self, folder: Path, tmp_path: Path) -> None:
        done(folder, "organization", "export", "acme", tmp_path / "file")
        new, missing = tmp_path / "new", tmp_path / "missing"

        result = run(new, "organization", "import", tmp_path / "file", "--files", missing)

        assert (result.exit_code, f"warning: there is no folder `{missing}`" in result.stderr) == (0, True)


class TestRemove:
    @pytest.mark.parametrize("words", [("--yes",), ("--dry-run",), ("--with-files", "--yes")])
    @pytest.mark.parametrize("named", ["main", "organization"])
    def test_the_home_organization_cannot_be_deleted(self, folder: Path, named: str, words: tuple[str, ...]) -> None:
        result = run(folder, "organization", "delete", named, *words)

        assert result.exit_code == 1
        assert "`main` is the home organization of this deployment and cannot be removed" in result.stderr
        assert re.search(r"main +nekt +active", done(folder, "organization", "list"))

    def test_deleting_an_organization_frees_its_name_and_keeps_its_log_and_files(
        self, folder: Path, tmp_path: Path
    ) -> None:
        id = id_of(folder)
        files = filled(folder, id)

        said = done(folder, "organization", "delete", "acme", "--yes")
        done(folder, "organization", "create", "acme", "--owner", "ada")

        assert "1 principals, 0 tables; its files are kept\n" in said
        assert f"its log is kept for the auditor: `headgate organization export {id} FILE`" in said
        assert all(file.exists() for file in files)
        assert id_of(folder) != id
        done(folder, "organization", "export", id, tmp_path / "file")
        again = run(folder, "organization", "import", tmp_path / "file")
        assert (again.exit_code, "was removed, and its id cannot be used again" in again.stderr) == (1, True)

    def test_deleting_an_organization_with_files_deletes_its_own_files_only(self, folder: Path, tmp_path: Path) -> None:
        id = id_of(folder)
        own, others = filled(folder, id), filled(folder, ResourceId("o_other"))
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "kept").write_text("kept")
        (folder / "warehouse" / id / "link").symlink_to(outside, target_is_directory=True)

        foreseen = done(folder, "organization", "delete", "acme", "--with-files", "--dry-run")
        assert "1 principals, 0 tables and " in foreseen
        assert all(file.exists() for file in own)
        done(folder, "organization", "delete", "acme", "--with-files", "--yes")

        assert [root for root in ("warehouse", "checkpoints", "scratch") if (folder / root / id).exists()] == []
        assert all(file.exists() for file in others)
        assert (outside / "kept").exists()

    def test_deleting_an_organization_with_files_does_not_follow_links(self, folder: Path, tmp_path: Path) -> None:
        id, outside = id_of(folder), tmp_path / "outside"
        (outside / id).mkdir(parents=True)
        (outside / id / "kept").write_text("kept")
        (folder / "checkpoints").symlink_to(outside, target_is_directory=True)
        (folder / "warehouse").mkdir(exist_ok=True)
        (folder / "warehouse" / id).symlink_to(outside / id, target_is_directory=True)

        done(folder, "organization", "delete", "acme", "--with-files", "--yes")

        assert (outside / id / "kept").exists()

    def test_deleting_an_organization_names_the_folders_that_remain(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files = filled(folder, id_of(folder))

        def fail(*_: object, **__: object) -> None:
            raise OSError(errno.EBUSY, "Device or resource busy")

        monkeypatch.setattr(shutil, "rmtree", fail)
        result = run(folder, "organization", "delete", "acme", "--with-files", "--yes")

        assert result.exit_code == 1
        assert "`acme` is deleted, but some of its files are not (Device or resource busy)" in result.stderr
        assert str(files[0].parents[1]) in result.stderr

    def test_deleting_an_organization_without_a_terminal_requires_yes(self, folder: Path) -> None:
        result = run(folder, "organization", "delete", "acme")

        assert (result.exit_code, "add `--yes`" in result.stderr) == (2, True)
        assert "acme" in done(folder, "organization", "list")

    def test_deleting_an_organization_reports_the_number_of_its_tables(self, folder: Path) -> None:
        id = id_of(folder)
        with deployment_in(folder) as deployment:
            control = deployment.organizations.open(id).control
            lake = control.snapshot.find(("lake",))
            assert lake is not None
            control.execute(CreateResource(ResourceId("db"), "database", lake.id, "raw"), None)
            control.execute(CreateResource(ResourceId("t"), "table", ResourceId("db"), "t"), None)

        assert "1 principals, 1 tables" in done(folder, "organization", "delete", "acme", "--dry-run")


class TestOperators:
    def test_operators_are_added_listed_and_removed(self, folder: Path) -> None:
        done(folder, "operator", "add", "ada")
        assert re.search(r"ada +ada +", done(folder, "operator", "list"))

        done(folder, "operator", "remove", "ada")
        assert "ada" not in done(folder, "operator", "list")
        assert run(folder, "operator", "remove", "ada").exit_code == 1

    def test_an_unknown_user_cannot_become_an_operator(self, folder: Path) -> None:
        result = run(folder, "operator", "add", "nosuch")

        assert (result.exit_code, "no user with the login name `nosuch`" in result.stderr) == (1, True)

    @pytest.mark.parametrize("model", ["onehouse", "datamesh"])
    def test_a_deployment_under_another_model_manages_organizations_without_operators(
        self, tmp_path: Path, model: str
    ) -> None:
        folder = tmp_path / "data"
        stores = open_stores(default_settings({}, folder=folder).folder)
        open_organizations(stores, lambda: 1.0, model)
        stores.close()
        with deployment_in(folder) as deployment:
            deployment.auth_services.authentication.register("ada", login="ada")
            assert not deployment.organizations.deployment.control.snapshot.governs

        refused = run(folder, "operator", "add", "ada")
        done(folder, "organization", "create", "acme", "--owner", "ada")
        done(folder, "organization", "suspend", "acme", "--reason", "x")
        done(folder, "organization", "delete", "acme", "--yes")

        assert (refused.exit_code, f"`{model}`, has no such role" in refused.stderr) == (1, True)


def test_a_deployment_of_an_earlier_version_gets_the_deployment_model_once(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    stores = open_stores(default_settings({}, folder=folder).folder)
    home = shipped_model("nekt")
    Organizations(stores, FixedModels({"nekt": home.model}), lambda: 1.0).deployment.control.execute(
        CreateDeployment(home), None
    )
    stores.close()

    for _ in range(2):
        with deployment_in(folder) as deployment:
            commands = [each.command for each in deployment.organizations.deployment.store.entries()]
        assert commands.count("deployment.govern") == 1
