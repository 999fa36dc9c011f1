"""Whoever runs a deployment is told what is not well with it, and what to do."""

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
from headgate.cli import app
from headgate.control.egress import EgressPolicy, EgressRules, parse_host_rule
from headgate.control.kernel.run_queue import RunRow, RunUpdate
from headgate.facts.ids import ResourceId, RunId
from headgate.sandbox import SandboxLevel
from headgate.store import FolderLock, open_stores
from tests.endpoints.http.test_tls import START, issue

NOW = 4_000_000_000.0
Seen = Callable[..., dict[str, list[Finding]]]
WHY = "the kernel is old"
FULL = Finding("sandbox", "ok", "full: files, TCP ports, system calls and memory of Spark's processes")
UNENFORCED = {
    SandboxLevel.FILES_ONLY: "the TCP ports that they connect to are not enforced",
    SandboxLevel.NONE: "their files, TCP ports, system calls and memory are not enforced",
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A data folder with its first organization, and free ports."""
    found = replace(
        default_settings({}, folder=tmp_path / "data", api_port=0, gateway_port=0), cache=tmp_path / "cache"
    )
    open_deployment(found).close()
    return found


def seen(settings: Settings, now: float = NOW) -> dict[str, list[Finding]]:
    """Return what a checkup finds, by what was looked at."""
    found: dict[str, list[Finding]] = {}
    for each in doctor(lambda: settings, {}, now):
        found.setdefault(each.what, []).append(each)
    return found


def altered(settings: Settings, statement: str) -> None:
    """Change the store behind Headgate's back."""
    with sqlite3.connect(settings.folder / "headgate.db") as connection:
        connection.execute(statement)
    connection.close()


class TestACheckup:
    def test_finds_nothing_wrong_with_a_new_deployment(self, settings: Settings) -> None:
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

    @pytest.mark.parametrize(
        ("state", "lease", "said"), [("queued", None, "has been waiting"), ("running", 2.0, "whose worker is gone")]
    )
    def test_tells_of_runs_that_nobody_carries_out(
        self, settings: Settings, state: str, lease: float | None, said: str
    ) -> None:
        stores = open_stores(settings.folder)
        row = RunRow(RunId("r"), ResourceId("p"), state, "manual", None, 1.0, 1.0, lease=lease)
        stores.log(ResourceId("organization")).put_run(RunUpdate(row, None))
        stores.close()

        (finding,) = seen(settings)["runs"]

        assert (finding.state, said in finding.seen) == ("warn", True)

    def test_makes_nothing_where_there_is_nothing(self, settings: Settings, tmp_path: Path) -> None:
        found = seen(replace(settings, folder=tmp_path / "none"))

        assert found["store"][0].seen.startswith("is empty yet")
        assert not (tmp_path / "none").exists()

    def test_asks_for_nothing_of_spark_where_there_is_to_be_none(self, settings: Settings) -> None:
        found = seen(replace(settings, spark=False))

        assert (len(found["ports"]), found["Spark"][0].state, "Java" in found) == (1, "ok", False)

    def test_ends_with_settings_that_cannot_be_used(self) -> None:
        def read() -> Settings:
            raise SettingsError("HEADGATE_API_PROT is not a setting")

        assert [(each.what, each.state) for each in doctor(read, {}, NOW)] == [("settings", "fail")]

    def test_tells_of_what_others_can_read(self, settings: Settings) -> None:
        settings.folder.chmod(0o755)
        settings.owner_token.chmod(0o644)

        found = seen(settings)

        assert (found["data folder"][0].state, found["secrets"][0].state) == ("warn", "warn")
        assert found["secrets"][0].do == f"chmod 600 {settings.owner_token}"


class TestTheStore:
    @pytest.mark.parametrize(
        "statement",
        [
            "update log set command = 'x' where revision = 2",
            "update log set changes = '[' where revision = 2",
            "update log set previous_hash = hash where revision = 2",
            "delete from log where log_id = 'deployment' and revision = 2",
        ],
    )
    def test_with_an_altered_end_fails(self, settings: Settings, statement: str) -> None:
        altered(settings, statement)

        (store,) = seen(settings)["store"]

        assert (store.state, "was altered, or the one before it lost" in store.seen) == ("fail", True)

    def test_whose_keys_were_not_copied_fails(self, settings: Settings) -> None:
        shutil.rmtree(settings.seal_key.parent)

        (seals,) = seen(settings)["seals"]

        assert seals.state == "fail"
        assert "which is not known here" in seals.seen
        assert seals.do.startswith("if you restored a backup, put the folder `keys` of the deployment there")
        assert "`headgate log verify`" in seals.do
        assert not settings.seal_key.parent.exists()

    def test_with_a_log_behind_its_mark_fails(self, settings: Settings) -> None:
        altered(settings, "delete from seals where log_id = 'deployment'")

        (seals,) = seen(settings)["seals"]

        assert (seals.state, "it was cut or rewritten" in seals.seen) == ("fail", True)
        assert "`headgate log accept`" in seals.do

    def test_that_is_none_fails(self, settings: Settings) -> None:
        (settings.folder / "headgate.db").write_text("not a database, but long enough to be read as one" * 100)

        assert seen(settings)["store"][0].state == "fail"

    def test_of_another_schema_is_told_of_and_left_as_it_is(self, settings: Settings) -> None:
        altered(settings, "update alembic_version set version_num = '0001'")

        found = seen(settings)

        assert (found["store"][0].state, "schema 0001" in found["store"][0].seen) == ("warn", True)
        assert seen(settings)["store"] == found["store"]

    def test_with_an_entry_of_tomorrow_fails_for_its_clock(self, settings: Settings) -> None:
        assert seen(settings, now=1.0)["clock"][0].state == "fail"

    def test_that_cannot_be_reached_fails_without_its_password(self, settings: Settings) -> None:
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

    def test_that_others_hold_fail(self, settings: Settings, taken: int) -> None:
        found = seen(replace(settings, api_port=taken))

        assert [each.state for each in found["ports"]] == ["fail", "ok"]
        assert found["ports"][0].do == "end what holds it, or set HEADGATE_API_PORT"

    def test_that_the_server_holds_are_well(self, settings: Settings, taken: int) -> None:
        deployment = open_deployment(settings)
        try:
            found = seen(replace(settings, api_port=taken))
        finally:
            deployment.close()

        assert ("ports" in found, found["lock"][0].state) == (False, "ok")

    def test_are_missed_where_a_process_holds_the_folder_and_does_not_listen(
        self, settings: Settings, taken: int
    ) -> None:
        deployment = open_deployment(settings)
        try:
            found = seen(replace(settings, bind="127.0.0.2", api_port=taken))
        finally:
            deployment.close()

        assert found["lock"][0].state == "warn"


class TestTheSandbox:
    @pytest.fixture(params=SandboxLevel, ids=lambda level: level.value)
    def level(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SandboxLevel:
        """Return the level of a machine that stands in for this one."""
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

    def test_the_sandbox_is_not_looked_at_where_there_is_to_be_no_spark(
        self, settings: Settings, level: SandboxLevel
    ) -> None:
        assert "sandbox" not in seen(replace(settings, spark=False, sandbox="require")), level


class TestThePublicUrl:
    @pytest.mark.parametrize(
        ("bind", "url", "state"),
        [("127.0.0.1", None, "ok"), ("0.0.0.0", None, "warn"), ("0.0.0.0", "https://a.example", "ok")],  # noqa: S104 (compared, not bound)
    )
    def test_is_missing_where_other_machines_reach_the_server(
        self, settings: Settings, bind: str, url: str | None, state: str
    ) -> None:
        served = replace(settings, bind=bind, insecure_http=True, logins=replace(settings.logins, address=url))

        (found,) = seen(served)["public URL"]

        assert found.state == state


class TestTheCertificate:
    @pytest.mark.parametrize(("days", "state"), [(0, "ok"), (36_490, "warn"), (36_501, "fail")])
    def test_is_looked_at_before_it_ends(self, settings: Settings, tmp_path: Path, days: int, state: str) -> None:
        certificate, key = issue(tmp_path, "one")
        served = replace(settings, tls_cert=certificate, tls_key=key)

        (found,) = seen(served, now=START.timestamp() + days * 86_400)["TLS"]

        assert found.state == state

    def test_that_does_not_fit_its_key_fails(self, settings: Settings, tmp_path: Path) -> None:
        certificate, key = issue(tmp_path, "one")
        kept = key.read_bytes()
        issue(tmp_path, "two")
        key.write_bytes(kept)

        assert seen(replace(settings, tls_cert=certificate, tls_key=key))["TLS"][0].state == "fail"


class TestDoctor:
    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_shows_what_was_found_and_says_by_its_exit_code_whether_it_is_well(
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
    def test_is_looked_at_as_well(self, settings: Settings, empty_postgres_url: str) -> None:
        there = replace(settings, store_url=empty_postgres_url)
        before = seen(there)["store"]
        open_deployment(there).close()

        found = seen(there)

        assert before[0].seen.startswith("is empty yet")
        assert {each.state for name in ("store", "logs", "clock", "models") for each in found[name]} == {"ok"}


class TestTheEgressPolicy:
    def listing(self, settings: Settings, **rules: EgressRules) -> list[Finding]:
        """Return what is found of a policy."""
        return seen(replace(settings, egress=EgressPolicy(rules)))["egress"]

    def test_that_lists_nothing_is_said(self, settings: Settings) -> None:
        (found,) = self.listing(settings)

        assert found.state == "ok"
        assert "HEADGATE_EGRESS is not set, or its file lists no organization" in found.seen

    def test_is_counted_in_words(self, settings: Settings, tmp_path: Path) -> None:
        host = parse_host_rule("db.example.org:5432")
        (found,) = self.listing(settings, organization=EgressRules((PurePosixPath(tmp_path / "cache"),), (host, host)))[
            :1
        ]

        assert found.seen == "connections of `organization` reach 1 folder and 2 hosts"

    def test_of_an_id_that_no_organization_has_is_doubtful(self, settings: Settings) -> None:
        found = self.listing(settings, organisation=EgressRules(), main=EgressRules())

        doubts = [each for each in found if each.state == "warn"]
        assert "did you mean `organization`?" in doubts[0].seen
        assert "`main`" in doubts[1].seen
        assert all("headgate organization list" in each.do for each in doubts)

    def test_of_all_organizations_is_known(self, settings: Settings) -> None:
        found = seen(replace(settings, egress=EgressPolicy({"*": EgressRules()})))["egress"]

        assert [each.state for each in found] == ["ok"]

    def test_with_a_folder_that_cannot_be_looked_at_is_doubtful(self, settings: Settings) -> None:
        # As one below a folder that may not be searched, which root can always search: `Path.is_dir` raises for both.
        folders = (PurePosixPath("/", "x" * 300), PurePosixPath(settings.folder))

        found = self.listing(settings, organization=EgressRules(folders))

        assert "may not be seen" in found[1].seen
        assert "the server's own" in found[2].seen

    def test_beside_a_server_is_said_to_be_of_this_shell(self, settings: Settings) -> None:
        with closing(FolderLock.take(settings.folder)):
            (found,) = self.listing(settings, organization=EgressRules())

        assert found.seen.endswith("in this shell's settings; a running server may have others")
