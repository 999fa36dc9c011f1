"""Sandboxes of the server's child processes: whether they are required, and what a driver may access."""

from dataclasses import replace
from pathlib import Path

import pytest

from headgate.app.settings.settings import Settings
from headgate.app.spark.sandboxes import (
    SandboxRequiredError,
    describe_unenforced,
    forbidden_files,
    prepare_driver_sandbox,
    with_own_event_logs,
)
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.sandbox import SandboxLevel
from headgate.spark.driver.clusters import Cluster
from tests.app.deployment_harness import DeploymentHarness, settings_in, world_in

PORTS = (8123,)
WHY = "the kernel has no Landlock"
LINE = f"sandbox of Spark's processes: files, TCP ports, system calls and memory are not restricted ({WHY})"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


def reached_by_others(settings: Settings) -> Settings:
    return replace(settings, bind="0.0.0.0", insecure_http=True)  # noqa: S104 (the subject of the test)


def test_a_local_server_serves_without_a_sandbox_and_reports_what_is_not_enforced(settings: Settings) -> None:
    assert describe_unenforced(settings, SandboxLevel.NONE, WHY) == LINE
    assert "connections to TCP ports" in describe_unenforced(settings, SandboxLevel.FILES_ONLY, WHY)
    assert describe_unenforced(settings, SandboxLevel.FULL, "") == ""


@pytest.mark.parametrize("level", [SandboxLevel.NONE, SandboxLevel.FILES_ONLY])
def test_a_public_server_does_not_serve_without_a_full_sandbox(settings: Settings, level: SandboxLevel) -> None:
    others = reached_by_others(settings)

    with pytest.raises(SandboxRequiredError, match="HEADGATE_SANDBOX=prefer"):
        describe_unenforced(others, level, WHY)
    assert describe_unenforced(others, SandboxLevel.FULL, "") == ""


def test_the_sandbox_setting_precedes_the_rule_for_the_address(settings: Settings) -> None:
    assert describe_unenforced(replace(reached_by_others(settings), sandbox="prefer"), SandboxLevel.NONE, WHY) == LINE
    with pytest.raises(SandboxRequiredError):
        describe_unenforced(replace(settings, sandbox="require"), SandboxLevel.NONE, WHY)


class TestDriver:
    def test_a_driver_may_write_the_folders_of_its_organization(self, tmp_path: Path) -> None:
        with world_in(tmp_path) as world:
            sandbox = prepare_driver_sandbox(
                world.deployment, world.deployment.home, Cluster(EMBEDDED), SandboxLevel.FULL, PORTS, {}
            )
            data = world.deployment.settings.folder

        assert sandbox.writes == tuple(data / each / "organization" for each in ("warehouse", "checkpoints", "scratch"))
        assert all(each.stat().st_mode & 0o077 == 0 for each in sandbox.writes)
        assert (sandbox.level, sandbox.connects) == (SandboxLevel.FULL, PORTS)

    def test_a_driver_may_write_former_folders_of_its_own_databases_only(self, tmp_path: Path) -> None:
        with world_in(tmp_path) as world:
            other = world.organization("other", "y42")
            warehouse = world.deployment.settings.warehouse
            for name in (database(world), other.opened.id, "unknown"):
                (warehouse / name).mkdir(parents=True, exist_ok=True)

            sandbox = prepare_driver_sandbox(
                world.deployment, world.deployment.home, Cluster(EMBEDDED), SandboxLevel.FULL, PORTS, {}
            )

        assert {each.name for each in sandbox.writes if each.parent == warehouse} == {"organization", database(world)}

    def test_a_driver_may_read_the_files_that_its_clusters_configuration_names(self, tmp_path: Path) -> None:
        (tmp_path / "trust.jks").touch()
        (tmp_path / "events").mkdir()
        conf = {
            "spark.hadoop.fs.s3a.store": f"file:{tmp_path}/trust.jks",
            "spark.eventLog.dir": f"file://{tmp_path}/events",
        }
        with world_in(tmp_path) as world:
            cluster = with_own_event_logs(Cluster("far", "yarn", conf=conf), world.deployment.home)
            sandbox = prepare_driver_sandbox(
                world.deployment, world.deployment.home, cluster, SandboxLevel.FULL, PORTS, {}
            )

        assert tmp_path / "trust.jks" in sandbox.reads
        assert tmp_path / "trust.jks" not in sandbox.writes

    @pytest.mark.parametrize("form", ["{}", "{}/", "file:{}", "file://{}"])
    def test_a_driver_writes_event_logs_of_its_organization_only(self, tmp_path: Path, form: str) -> None:
        events = tmp_path / "events"
        events.mkdir()
        shared = Cluster("far", "yarn", conf={"spark.eventLog.dir": form.format(events)})
        with world_in(tmp_path) as world:
            own = world.deployment.home
            cluster = with_own_event_logs(shared, own)
            sandbox = prepare_driver_sandbox(world.deployment, own, cluster, SandboxLevel.FULL, PORTS, {})

        assert events / own.id in sandbox.writes
        assert (events / own.id).is_dir()
        assert events not in {*sandbox.writes, *sandbox.reads}

    def test_event_logs_on_other_machines_stay_where_they_are(self, tmp_path: Path) -> None:
        shared = Cluster("far", "yarn", conf={"spark.eventLog.dir": "hdfs://store:8020/events"})
        with world_in(tmp_path) as world:
            assert with_own_event_logs(shared, world.deployment.home) == shared

    def test_a_driver_may_not_open_the_data_folder_the_keys_or_the_home(self, tmp_path: Path) -> None:
        settings = replace(settings_in(tmp_path), log_key=tmp_path / "log.pem", secrets_key=tmp_path / "secrets.key")
        config = {"HEADGATE_CONFIG": str(tmp_path / "headgate.toml")}

        forbidden = forbidden_files(settings, config)

        named = (settings.folder, tmp_path / "log.pem", tmp_path / "secrets.key", settings.owner_token)
        assert {*map(str, named), *config.values(), str(Path.home())} <= set(forbidden)


def database(world: DeploymentHarness) -> str:
    """Return the id of a database of the home organization."""
    found = world.control.snapshot.resources.values()
    return next(each.id for each in found if each.type == "database")
