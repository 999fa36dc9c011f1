"""`headgate doctor` reports faults of a deployment to the operator, each with the next step."""

import json
import shutil
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from typer.testing import CliRunner

from headgate.app.deployment import open_deployment
from headgate.app.doctor import Finding, doctor
from headgate.app.settings.settings import Settings, SettingsError, default_settings
from headgate.cli.every_command import app
from headgate.control.egress import EgressPolicy, EgressRules, parse_host_rule
from headgate.control.kernel.run_queue import RunRow, RunUpdate
from headgate.control.models.change import RequestedModel, build_change, change_model, preview_change
from headgate.control.models.commands import InstallModel
from headgate.control.models.library import load_source
from headgate.control.models.shipped_models import shipped_model
from headgate.facts.ids import ResourceId, RunId
from headgate.sandbox import SandboxLevel
from headgate.store import FolderLock, open_stores
from tests.endpoints.http.test_tls import START, issue

NOW = 4_000_000_000.0
Seen = Callable[..., dict[str, list[Finding]]]
WHY = "the kernel is old"
FULL = Finding(
    "sandbox", "ok", "full: the files, TCP ports, system calls and memory of Spark's processes are restricted"
)
UNENFORCED = {
    SandboxLevel.FILES_ONLY: "connections to TCP ports are not restricted",
    SandboxLevel.NONE: "files, TCP ports, system calls and memory are not restricted",
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a data folder with its first organization, and free ports."""
    found = replace(
        default_settings({}, folder=tmp_path / "data", api_port=0, gateway_port=0), cache=tmp_path / "cache"
    )
    open_deployment(found).close()
    return found


def seen(settings: Settings, now: float = NOW) -> dict[str, list[Finding]]:
    """Return the findings of the doctor, by their subject."""
    found: dict[str, list[Finding]] = {}
    for each in doctor(lambda: settings, {}, now):
        found.setdefault(each.what, []).append(each)
    return found


def altered(settings: Settings, statement: str) -> None:
    """Run a statement on the store's database without the server."""
    with sqlite3.connect(settings.folder / "headgate.db") as connection:
        connection.execute(statement)
    connection.close()


class TestACheckup:
    def test_doctor_finds_no_fault_in_a_new_deployment(self, settings: Settings) -> None:
        found = seen(settings)

        assert {
            each.state
            for name in found
            if name not in ("Iceberg jar", "PostgreSQL jar", "guard", "sandbox")
            for each in found[name]
        } == {"ok"}
        assert {
            "settings",
            "data folder",
            "secrets",
            "store",
            "logs",
            "seals",
            "clock",
            "models",
            "runs",
            "ports",
            "TLS",
        } <= found.keys()

    def test_doctor_warns_of_another_version_of_a_shipped_model_until_the_organization_uses_the_shipped_one(
        self, settings: Settings
    ) -> None:
        shipped = shipped_model("nekt")
        own = load_source(shipped.source.replace(f"version: {shipped.model.version}\n", "version: 99\n"), "nekt.yaml")
        found = list[Finding]()
        for version in (99, shipped.model.version):
            deployment = open_deployment(settings)
            organizations, main = deployment.organizations, deployment.home
            organizations.deployment.control.execute(InstallModel(own), None)
            wanted = RequestedModel("nekt", version)
            confirmation = preview_change(main, build_change(organizations, main, wanted)).confirmation
            change_model(organizations, main, wanted, confirmation)
            deployment.close()
            found += seen(settings)["models"]

        assert [each.state for each in found] == ["warn", "ok"]
        assert "headgate model upgrade organization --dry-run" in str(found[0])

    @pytest.mark.parametrize(
        ("state", "lease", "said"), [("queued", None, "has been waiting"), ("running", 2.0, "have lost their worker")]
    )
    def test_doctor_warns_of_runs_without_a_worker(
        self, settings: Settings, state: str, lease: float | None, said: str
    ) -> None:
        stores = open_stores(settings.folder)
        row = RunRow(RunId("r"), ResourceId("p"), state, "manual", None, 1.0, 1.0, lease=lease)
        stores.log(ResourceId("organization")).put_run(RunUpdate(row, None))
        stores.close()

        (finding,) = seen(settings)["runs"]

        assert (finding.state, said in finding.seen) == ("warn", True)

    def test_doctor_does_not_create_a_missing_data_folder(self, settings: Settings, tmp_path: Path) -> None:
        found = seen(replace(settings, folder=tmp_path / "none"))

        assert found["store"][0].seen.startswith("there is no store yet")
        assert not (tmp_path / "none").exists()

    def test_doctor_does_not_check_spark_when_it_is_disabled(self, settings: Settings) -> None:
        found = seen(replace(settings, spark=False))

        assert (len(found["ports"]), found["Spark"][0].state, "Java" in found) == (1, "ok", False)

    def test_doctor_stops_at_invalid_settings(self) -> None:
        def read() -> Settings:
            raise SettingsError("HEADGATE_API_PROT is not a setting")

        assert [(each.what, each.state) for each in doctor(read, {}, NOW)] == [("settings", "fail")]

    def test_doctor_warns_of_files_that_other_users_can_read(self, settings: Settings) -> None:
        settings.folder.chmod(0o755)
        settings.owner_token.chmod(0o644)

        found = seen(settings)

        assert (found["data folder"][0].state, found["secrets"][0].state) == ("warn", "warn")
        assert found["secrets"][0].do == f"chmod 600 {settings.owner_token}"


class TestTheStore:
    @pytest.mark.parametrize(
        ("statement", "fault"),
        [
            ("update log set command = 'x' where revision = 2", "was altered"),
            ("update log set changes = '[' where revision = 2", "was altered"),
            ("update log set previous_hash = hash where revision = 2", "was altered"),
            ("delete from log where log_id = 'deployment' and revision = 2", "is missing"),
        ],
    )
    def test_an_altered_log_fails_the_check_of_the_store(self, settings: Settings, statement: str, fault: str) -> None:
        altered(settings, statement)

        (store,) = seen(settings)["store"]

        assert (store.state, store.seen.endswith(fault)) == ("fail", True)

    def test_a_store_without_its_seal_keys_fails_the_check_of_the_seals(self, settings: Settings) -> None:
        shutil.rmtree(settings.seal_key.parent)

        (seals,) = seen(settings)["seals"]

        assert seals.state == "fail"
        assert "which is not a known key of this deployment" in seals.seen
        assert seals.do.startswith("if you restored a backup, restore the folder `keys` of its deployment too")
        assert "`headgate log verify`" in seals.do
        assert not settings.seal_key.parent.exists()

    def test_a_log_behind_its_mark_fails_the_check_of_the_seals(self, settings: Settings) -> None:
        altered(settings, "delete from seals where log_id = 'deployment'")

        (seals,) = seen(settings)["seals"]

        assert (seals.state, "it was truncated or rewritten" in seals.seen) == ("fail", True)
        assert "`headgate log accept`" in seals.do

    def test_an_invalid_database_file_fails_the_check_of_the_store(self, settings: Settings) -> None:
        (settings.folder / "headgate.db").write_text("not a database, but long enough to be read as one" * 100)

        assert seen(settings)["store"][0].state == "fail"

    def test_a_store_with_another_schema_is_reported_and_not_migrated(self, settings: Settings) -> None:
        altered(settings, "update alembic_version set version_num = '0001'")

        found = seen(settings)

        assert (found["store"][0].state, "schema 0001" in found["store"][0].seen) == ("warn", True)
        assert seen(settings)["store"] == found["store"]

    def test_a_log_entry_in_the_future_fails_the_check_of_the_clock(self, settings: Settings) -> None:
        assert seen(settings, now=1.0)["clock"][0].state == "fail"

    def test_an_unreachable_store_is_reported_without_its_password(self, settings: Settings) -> None:
        away = replace(settings, store_url="postgresql://u:hush@127.0.0.1:1/headgate")

        (store,) = seen(away)["store"]

        assert (store.state, "hush" in store.seen) == ("fail", False)


class TestThePorts:
    @pytest.fixture
    def taken(self) -> Iterator[int]:
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            holder.listen()
            yield holder.getsockname()[1]

    def test_a_port_of_another_process_fails_the_check_of_the_ports(self, settings: Settings, taken: int) -> None:
        found = seen(replace(settings, api_port=taken))

        assert [each.state for each in found["ports"]] == ["fail", "ok"]
        assert found["ports"][0].do == "stop the process that uses the port, or set HEADGATE_API_PORT"

    def test_a_port_of_the_running_server_passes_the_check(self, settings: Settings, taken: int) -> None:
        deployment = open_deployment(settings)
        try:
            found = seen(replace(settings, api_port=taken))
        finally:
            deployment.close()

        assert ("ports" in found, found["lock"][0].state) == (False, "ok")

    def test_a_locked_data_folder_without_a_listening_server_is_a_warning(self, settings: Settings, taken: int) -> None:
        deployment = open_deployment(settings)
        try:
            found = seen(replace(settings, bind="127.0.0.2", api_port=taken))
        finally:
            deployment.close()

        assert found["lock"][0].state == "warn"


class TestTheSandbox:
    @pytest.fixture(params=SandboxLevel, ids=lambda level: level.value)
    def level(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SandboxLevel:
        """Simulate a machine with this level of sandboxing."""
        level = SandboxLevel(request.param)
        why = "" if level is SandboxLevel.FULL else WHY
        monkeypatch.setattr(sys.modules["headgate.app.doctor.sandbox"], "find_level", lambda: (level, why))
        return level

    def test_a_preferred_sandbox_that_is_not_full_is_a_warning(self, settings: Settings, level: SandboxLevel) -> None:
        (found,) = seen(replace(settings, sandbox="prefer"))["sandbox"]

        if level is SandboxLevel.FULL:
            assert found == FULL
        else:
            line = f"sandbox of Spark's processes: {UNENFORCED[level]} ({WHY})"
            assert found == Finding("sandbox", "warn", line, "use Linux 6.7 or newer")

    def test_a_required_sandbox_that_is_not_full_is_a_failure(self, settings: Settings, level: SandboxLevel) -> None:
        (found,) = seen(replace(settings, sandbox="require"))["sandbox"]

        if level is SandboxLevel.FULL:
            assert found == FULL
        else:
            assert (found.state, found.do) == ("fail", "use Linux 6.7 or newer, or set HEADGATE_SANDBOX=prefer")
            assert found.seen.startswith(f"sandbox of Spark's processes: {UNENFORCED[level]} ({WHY})")

    def test_the_sandbox_is_not_checked_when_spark_is_disabled(self, settings: Settings, level: SandboxLevel) -> None:
        assert "sandbox" not in seen(replace(settings, spark=False, sandbox="require")), level


class TestThePublicUrl:
    @pytest.mark.parametrize(
        ("bind", "url", "state"),
        [("127.0.0.1", None, "ok"), ("0.0.0.0", None, "warn"), ("0.0.0.0", "https://a.example", "ok")],  # noqa: S104 (compared, not bound)
    )
    def test_a_public_server_without_a_public_url_is_reported(
        self, settings: Settings, bind: str, url: str | None, state: str
    ) -> None:
        served = replace(settings, bind=bind, insecure_http=True, logins=replace(settings.logins, address=url))

        (found,) = seen(served)["public URL"]

        assert found.state == state


class TestTheCertificate:
    @pytest.mark.parametrize(("days", "state"), [(0, "ok"), (36_490, "warn"), (36_501, "fail")])
    def test_a_certificate_is_reported_before_and_after_it_expires(
        self, settings: Settings, tmp_path: Path, days: int, state: str
    ) -> None:
        certificate, key = issue(tmp_path, "one")
        served = replace(settings, tls_cert=certificate, tls_key=key)

        (found,) = seen(served, now=START.timestamp() + days * 86_400)["TLS"]

        assert found.state == state

    def test_a_certificate_that_does_not_match_its_key_fails_the_check(
        self, settings: Settings, tmp_path: Path
    ) -> None:
        certificate, key = issue(tmp_path, "one")
        kept = key.read_bytes()
        issue(tmp_path, "two")
        key.write_bytes(kept)

        assert seen(replace(settings, tls_cert=certificate, tls_key=key))["TLS"][0].state == "fail"


class TestDoctor:
    @pytest.mark.parametrize("options", [[], ["--output", "json"]])
    def test_doctor_prints_its_findings_and_exits_with_1_after_a_failure(
        self, settings: Settings, options: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEADGATE_API_PORT", "0")
        monkeypatch.setenv("HEADGATE_SPARK_PORT", "0")
        command = ["doctor", "--data", str(settings.folder), *options]

        well = CliRunner().invoke(app, command)
        altered(settings, "update log set command = 'x'")
        broken = CliRunner().invoke(app, command)

        assert (well.exit_code, broken.exit_code) == (0, 1)
        if options:
            lines = [json.loads(line) for line in broken.stdout.splitlines()]
            assert [each["what"] for each in lines if each["state"] == "fail"] == ["store"]


class TestAStoreInPostgresql:
    def test_doctor_checks_a_store_in_postgresql(self, settings: Settings, empty_postgres_url: str) -> None:
        there = replace(settings, store_url=empty_postgres_url)
        before = seen(there)["store"]
        open_deployment(there).close()

        found = seen(there)

        assert before[0].seen.startswith("there is no store yet")
        assert {each.state for name in ("store", "logs", "clock", "models") for each in found[name]} == {"ok"}


class TestTheEgressPolicy:
    def listing(self, settings: Settings, **rules: EgressRules) -> list[Finding]:
        """Return the findings on an egress policy."""
        return seen(replace(settings, egress=EgressPolicy(rules)))["egress"]

    def test_an_empty_egress_policy_is_reported(self, settings: Settings) -> None:
        (found,) = self.listing(settings)

        assert found.state == "ok"
        assert "HEADGATE_EGRESS is not set, or its file lists no organization" in found.seen

    def test_doctor_counts_the_folders_and_hosts_of_an_egress_policy(self, settings: Settings, tmp_path: Path) -> None:
        host = parse_host_rule("db.example.org:5432")
        (found,) = self.listing(settings, organization=EgressRules((PurePosixPath(tmp_path / "cache"),), (host, host)))[
            :1
        ]

        assert found.seen == "the connections of the organization `organization` may reach 1 folder and 2 hosts"

    def test_egress_rules_for_an_unknown_organization_are_a_warning(self, settings: Settings) -> None:
        found = self.listing(settings, organisation=EgressRules(), main=EgressRules())

        doubts = [each for each in found if each.state == "warn"]
        assert "did you mean `organization`?" in doubts[0].seen
        assert "`main`" in doubts[1].seen
        assert all("headgate organization list" in each.do for each in doubts)

    def test_egress_rules_for_all_organizations_are_accepted(self, settings: Settings) -> None:
        found = seen(replace(settings, egress=EgressPolicy({"*": EgressRules()})))["egress"]

        assert [each.state for each in found] == ["ok"]

    def test_an_egress_folder_that_cannot_be_inspected_is_reported(self, settings: Settings) -> None:
        # The long name makes `Path.is_dir` raise, like a path below a folder without search permission does for users but
        # root.
        folders = (PurePosixPath("/", "x" * 300), PurePosixPath(settings.folder))

        found = self.listing(settings, organization=EgressRules(folders))

        assert "does not exist, or is not accessible" in found[1].seen
        assert "belongs to the server, so no connection may reach it" in found[2].seen

    def test_the_egress_policy_is_reported_as_that_of_this_shell_while_a_server_runs(self, settings: Settings) -> None:
        with closing(FolderLock.take(settings.folder)):
            (found,) = self.listing(settings, organization=EgressRules())

        assert found.seen.endswith("by the settings of this shell; a running server may have others")
