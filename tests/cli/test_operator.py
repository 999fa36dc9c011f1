"""What an operator does on the deployment's own machine: forget a person, move an organization, copy a store."""

import hashlib
import json
import shutil
import stat
from contextlib import nullcontext
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result
from typing_extensions import override

from headgate.cli import confirmation
from headgate.cli.every_command import app
from headgate.cli.operator import deployment_users
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization
from headgate.control.identity.principals import AddPrincipal
from headgate.control.kernel.ports import LogWrite, Pointer
from headgate.control.resources.commands import CreateResource
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from tests.cli.deployments import deployment_in

OWNER, MARVIN = PrincipalId("p-owner"), PrincipalId("p-marvin")
ACME = ResourceId("acme")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with an organization `acme`, and Marvin in it."""
    folder = tmp_path / "data"
    with deployment_in(folder) as deployment:
        acme = create_organization(deployment.organizations, OrganizationSpec(ACME, "Acme", OWNER, "The Owner", "nekt"))
        acme.control.execute(AddPrincipal(MARVIN, "Marvin", "member"), Caller(OWNER))
    return folder


@pytest.fixture
def file(folder: Path, tmp_path: Path) -> Path:
    """The organization as a file."""
    file = tmp_path / "acme.jsonl"
    assert run("organization", "export", "acme", file, "--data", folder).exit_code == 0
    return file


def exported_with(folder: Path, tmp_path: Path, metadata: str) -> Path:
    """The organization as a file, with a table whose metadata lies there."""
    with deployment_in(folder) as deployment:
        store, table = deployment.organizations.find("acme").store, ResourceId("t1")
        store.append(store.head(), LogWrite(0.0, None, "table.create", (), pointers=(Pointer(table, metadata),)))
    file = tmp_path / "with-a-table.jsonl"
    assert run("organization", "export", "acme", file, "--data", folder).exit_code == 0
    return file


def add_document(file: Path, kind: str, id: str, body: object) -> None:
    """Add a document to an exported organization, with an end that fits."""
    lines = [*file.read_text().splitlines()[:-1], json.dumps({"document": {"kind": kind, "id": id, "body": body}})]
    digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    file.write_text("\n".join([*lines, json.dumps({"end": {"lines": len(lines), "sha256": digest}})]))


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


class _Terminal(StringIO):
    @override
    def isatty(self) -> bool:
        return True


def is_known(folder: Path) -> bool:
    """Return whether Marvin still has his name."""
    with deployment_in(folder) as deployment:
        return deployment.organizations.open(ACME).directory.name(MARVIN) == "Marvin"


class TestForget:
    def test_erasing_a_user_by_name_deletes_the_name_from_the_store(self, folder: Path) -> None:
        result = run("deployment-user", "erase", "Marvin", "--yes", "--data", folder)

        assert result.exit_code == 0, result.output
        assert "`p-marvin` is erased from the log of `acme`: 1 documents are erased" in result.stdout
        assert b"Marvin" not in (folder / "headgate.db").read_bytes()
        assert run("log", "verify", "--data", folder).exit_code == 0

    def test_erasing_a_user_leaves_no_trace_in_the_files_of_a_served_store(self, folder: Path) -> None:
        with deployment_in(folder) as deployment:
            acme = deployment.organizations.open(ACME)
            assert acme.directory.name(MARVIN) == "Marvin"

            assert run("deployment-user", "erase", "Marvin", "--yes", "--data", folder).exit_code == 0

            assert [file for file in folder.glob("headgate.db*") if b"Marvin" in file.read_bytes()] == []
            deployment.organizations.refresh()
            assert acme.directory.name(MARVIN) == MARVIN

    def test_erasing_an_unknown_user_is_refused(self, folder: Path) -> None:
        result = run("deployment-user", "erase", "Trillian", "--yes", "--data", folder)

        assert result.exit_code == 1
        assert "Trillian" in result.stderr

    @pytest.mark.parametrize("called", ["straße@acme.com", "STRASSE@acme.com"])
    def test_a_look_alike_of_an_address_names_no_user_to_erase(self, folder: Path, called: str) -> None:
        with deployment_in(folder) as deployment:
            logins = deployment.auth_services.authentication
            logins.register("one", email="strasse@acme.com", verified=True)
            logins.register("two", login="strasse@acme.com")

        result = run("deployment-user", "erase", called, "--yes", "--data", folder)

        assert result.exit_code == (1 if "ß" in called else 0)

    def test_erasing_a_user_frees_look_alikes_of_the_address(self, folder: Path) -> None:
        with deployment_in(folder) as deployment:
            deployment.auth_services.authentication.register("one", email="straße@acme.com", verified=True)

        assert run("deployment-user", "erase", "straße@acme.com", "--yes", "--data", folder).exit_code == 0

        with deployment_in(folder) as deployment:
            assert deployment.auth_services.authentication.register("two", email="strasse@acme.com", verified=True)

    def test_erasing_a_user_without_a_terminal_is_refused_and_names_the_option(self, folder: Path) -> None:
        result = run("deployment-user", "erase", "Marvin", "--data", folder)

        assert result.exit_code == 2
        assert "add `--yes`" in result.stderr
        assert is_known(folder)

    @pytest.mark.parametrize(("answer", "code", "stays"), [("y", 0, False), ("n", 1, True), ("", 1, True)])
    def test_erasing_a_user_at_a_terminal_asks_for_confirmation(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        answer: str,
        code: int,
        stays: bool,  # noqa: FBT001
    ) -> None:
        monkeypatch.setattr(confirmation.sys, "stdin", _Terminal(f"{answer}\n"))

        with pytest.raises(SystemExit) if code else nullcontext():
            deployment_users.erase_user("Marvin", data=folder)

        assert is_known(folder) is stays

    def test_erasing_a_user_creates_no_deployment(self, tmp_path: Path) -> None:
        assert run("deployment-user", "erase", "Marvin", "--yes", "--data", tmp_path).exit_code == 2
        assert list(tmp_path.iterdir()) == []


class TestOrganization:
    def test_an_exported_file_is_private_and_replaces_no_file(self, folder: Path, file: Path) -> None:
        before = file.read_text()

        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert run("organization", "export", "acme", file, "--data", folder).exit_code == 1
        assert file.read_text() == before

    def test_the_export_of_a_missing_organization_creates_no_file(self, folder: Path, tmp_path: Path) -> None:
        result = run("organization", "export", "nobody", tmp_path / "new", "--data", folder)

        assert result.exit_code == 1
        assert "there is no organization `nobody`" in result.stderr
        assert not (tmp_path / "new").exists()

    def test_an_exported_organization_can_be_imported_into_another_deployment(self, file: Path, tmp_path: Path) -> None:
        with deployment_in(tmp_path / "other"):
            pass

        result = run("organization", "import", file, "--name", "Acme", "--data", tmp_path / "other")

        assert result.exit_code == 0, result.output
        with deployment_in(tmp_path / "other") as deployment:
            acme = deployment.organizations.find("Acme")
            assert acme.id == ACME
            assert acme.directory.name(MARVIN) == "Marvin"
            assert set(acme.control.snapshot.principals) == {OWNER, MARVIN}
            assert deployment.auth_services.authentication.user_of("marvin").principal == MARVIN
        assert run("log", "verify", "--data", tmp_path / "other").exit_code == 0

    def test_an_import_into_an_empty_folder_begins_a_deployment(self, file: Path, tmp_path: Path) -> None:
        assert run("organization", "import", file, "--data", tmp_path / "new").exit_code == 0

        with deployment_in(tmp_path / "new") as deployment:
            assert [each.id for each in deployment.organizations.list_all()] == [ACME]

    def test_an_organization_imported_later_does_not_become_the_home_organization(
        self, folder: Path, tmp_path: Path
    ) -> None:
        with deployment_in(folder) as deployment:
            founding = OrganizationSpec(ResourceId("aaa"), "first", OWNER, "Ford", "nekt")
            create_organization(deployment.organizations, founding)
        files = {id: tmp_path / id for id in ("acme", "aaa")}
        for id, file in files.items():
            assert run("organization", "export", id, file, "--data", folder).exit_code == 0

        for file in files.values():
            assert run("organization", "import", file, "--data", tmp_path / "new").exit_code == 0

            with deployment_in(tmp_path / "new") as deployment:
                assert deployment.home.id == ACME

    def test_tables_of_an_import_must_lie_in_its_folder_or_in_a_folder_of_the_operator(
        self, folder: Path, tmp_path: Path
    ) -> None:
        place = f"file://{folder}/warehouse/acme/d1/t1"
        file = exported_with(folder, tmp_path, f"{place}/metadata/0.metadata.json")

        for each in ("warehouse", "checkpoints"):
            (folder / each).mkdir(exist_ok=True)

        refused = run("organization", "import", file, "--data", tmp_path / "new")
        elsewhere = run("organization", "import", file, "--data", tmp_path / "new", "--files", folder / "checkpoints")
        taken = run("organization", "import", file, "--data", tmp_path / "new", "--files", folder / "warehouse")

        assert (refused.exit_code, elsewhere.exit_code, taken.exit_code) == (1, 1, 0), taken.output
        assert "outside the organization's folder of the warehouse" in refused.stderr

    @pytest.mark.parametrize("place", ["organization/d1/t1", "d1/t1", "acme/../organization/d1/t1", "acme/d1/t2", "."])
    def test_an_import_with_a_table_of_another_organization_is_refused(
        self, folder: Path, tmp_path: Path, place: str
    ) -> None:
        there = tmp_path / "new"
        with deployment_in(there):
            pass
        (there / "warehouse").mkdir(exist_ok=True)
        location = f"file://{there}/warehouse/{place}/metadata/0.metadata.json"
        file = exported_with(folder, tmp_path, location)

        result = run("organization", "import", file, "--data", there, "--files", there / "warehouse", "--files", "/")

        assert result.exit_code == (0 if place == "acme/d1/t2" else 1), result.output

    def test_an_organization_is_not_imported_twice(self, folder: Path, file: Path) -> None:
        result = run("organization", "import", file, "--data", folder)

        assert result.exit_code == 1
        assert "the organization `acme` exists already" in result.stderr

    def test_an_import_under_the_name_of_another_organization_is_refused(self, file: Path, tmp_path: Path) -> None:
        with deployment_in(tmp_path / "other"):
            pass

        result = run("organization", "import", file, "--name", "main", "--data", tmp_path / "other")

        assert result.exit_code == 1
        assert "`main` exists already" in result.stderr
        with deployment_in(tmp_path / "other") as deployment:
            assert ACME not in deployment.stores.logs()

    @pytest.mark.parametrize("source", ["", "this: [is no model", "model: nekt\n", "- 1"])
    def test_an_import_with_an_unreadable_model_is_refused(self, file: Path, tmp_path: Path, source: str) -> None:
        add_document(file, "model", hashlib.sha256(source.encode()).hexdigest(), {"source": source})

        result = run("organization", "import", file, "--data", tmp_path / "new")

        assert result.exit_code == 1
        assert "of the file is not a valid `document`" in result.stderr
        with deployment_in(tmp_path / "new") as deployment:
            assert ACME not in deployment.stores.logs()

    @pytest.mark.parametrize(
        ("kind", "body"), [("principal", "text"), ("principal", {}), ("principal", {"name": 1}), ("table", [])]
    )
    def test_an_import_with_a_malformed_document_is_refused(
        self, file: Path, tmp_path: Path, kind: str, body: object
    ) -> None:
        add_document(file, kind, "p-new", body)

        for _ in range(2):
            result = run("organization", "import", file, "--data", tmp_path / "new")

            assert result.exit_code == 1
            assert "of the file is not a valid `document`" in result.stderr

    @pytest.mark.parametrize("kind", ["session", "login", "user", "home", "email"])
    def test_an_import_adds_no_document_that_only_a_deployment_has(self, file: Path, tmp_path: Path, kind: str) -> None:
        add_document(file, kind, "new", {"principal": OWNER})

        assert run("organization", "import", file, "--data", tmp_path / "new").exit_code == 0

        with deployment_in(tmp_path / "new") as deployment:
            assert "new" not in deployment.organizations.open(ACME).store.documents(kind)

    def test_an_import_of_a_deployment_log_is_refused(self, file: Path, tmp_path: Path) -> None:
        file.write_text(file.read_text().replace('"organization":"acme"', '"organization":"deployment"', 1))

        result = run("organization", "import", file, "--data", tmp_path / "new")

        assert result.exit_code == 1
        assert "is the log of a deployment, not of an organization" in result.stderr
        with deployment_in(tmp_path / "new") as deployment:
            assert len(deployment.organizations.list_all()) == 1

    def test_an_import_with_the_id_of_a_foreign_database_is_refused(self, file: Path, tmp_path: Path) -> None:
        with deployment_in(tmp_path / "other") as deployment:
            lake = next(id for id, each in deployment.home.control.snapshot.resources.items() if each.type == "lake")
            deployment.home.control.execute(CreateResource(ACME, "database", lake, "raw"), None)

        result = run("organization", "import", file, "--data", tmp_path / "other")

        assert result.exit_code == 1
        assert "is in use by a resource of another organization" in result.stderr

    def test_an_import_of_an_altered_file_is_refused(self, file: Path, tmp_path: Path) -> None:
        lines = file.read_text().splitlines()
        entry = json.loads(lines[1])
        entry["entry"]["actor"] = "somebody"
        file.write_text("\n".join([lines[0], json.dumps(entry), *lines[2:]]))

        result = run("organization", "import", file, "--data", tmp_path / "new")

        assert result.exit_code == 1
        assert "revision 1 in the file was altered; export the organization again" in result.stderr

    def test_an_import_of_a_missing_file_is_refused(self, folder: Path, tmp_path: Path) -> None:
        result = run("organization", "import", tmp_path / "missing", "--data", folder)

        assert result.exit_code == 1
        assert "missing` cannot be used" in result.stderr


class TestBackup:
    def test_a_backup_of_a_served_store_can_be_restored(self, folder: Path, tmp_path: Path) -> None:
        with deployment_in(folder):
            assert run("store", "backup", tmp_path / "copy", "--data", folder).exit_code == 0
        (tmp_path / "again" / "keys").mkdir(parents=True)
        public = folder / "keys" / "log.pub.pem"
        (tmp_path / "again" / "keys" / "log.pub.pem").write_bytes(public.read_bytes())

        result = run("store", "restore", tmp_path / "copy", "--data", tmp_path / "again")

        assert result.exit_code == 0, result.output
        assert "the log `acme` is intact" in result.stdout
        with deployment_in(tmp_path / "again") as deployment:
            assert deployment.organizations.find("Acme").directory.name(MARVIN) == "Marvin"

    def test_a_restore_without_keys_reports_that_seals_were_not_checked(self, folder: Path, tmp_path: Path) -> None:
        run("store", "backup", tmp_path / "copy", "--data", folder)

        result = run("store", "restore", tmp_path / "copy", "--data", tmp_path / "again")

        assert result.exit_code == 0
        assert "the seals were not checked" in result.stdout
        assert (
            f"`{tmp_path / 'again' / 'keys'}` has no key; before you start a server, copy the folder `keys`"
            in result.stdout
        )

    def test_a_restored_store_is_verified_and_changed_only_after_its_keys_are_there(
        self, folder: Path, tmp_path: Path
    ) -> None:
        run("store", "backup", tmp_path / "copy", "--data", folder)
        again = tmp_path / "again"
        run("store", "restore", tmp_path / "copy", "--data", again)

        verified = run("log", "verify", "--data", again)
        moved = run("warehouse", "move", "--data", again)

        assert (verified.exit_code, moved.exit_code) == (1, 1)
        assert "if you restored a backup, restore the folder `keys` of its deployment too" in verified.stderr
        assert "which is not in" in moved.stderr
        assert not (again / "keys").exists()

        shutil.copytree(folder / "keys", again / "keys")

        assert run("log", "verify", "--data", again).exit_code == 0
        assert run("warehouse", "move", "--data", again).exit_code == 0

    @pytest.mark.parametrize("command", ["backup", "restore"])
    def test_a_backup_of_postgresql_is_refused_with_a_hint_to_pg_dump(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
    ) -> None:
        monkeypatch.setenv("HEADGATE_STORE", "postgresql://nobody@127.0.0.1:1/x")

        result = run("store", command, tmp_path / "copy", "--data", tmp_path)

        assert result.exit_code == 1
        assert "pg_dump" in result.stderr
