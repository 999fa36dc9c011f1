"""The sandbox of a driver: what it allows, on the embedded Spark and on a cluster."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import headgate.spark
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.sandbox import SandboxLevel
from headgate.spark.driver import sandbox
from headgate.spark.driver.clusters import Cluster
from headgate.spark.driver.config import THREAD_POOLS, DriverSandbox, DriverSettings
from headgate.spark.driver.ports import DriverPorts
from headgate.spark.driver.sandbox import choose_level, driver_policy
from headgate.spark.gateway.call_slots import CALLS
from headgate.spark.gateway.operations import PER_DRIVER
from headgate.spark.toolchain.prepare import Toolchain

ACTIVE_STREAMS = Path(headgate.spark.__file__).parent / "guard" / "scala" / "streams" / "ActiveStreams.scala"
PORTS = DriverPorts(1001, 1002, 1003)
HERE = Cluster(EMBEDDED, memory="2g")
FAR = Cluster("far", "spark://master:7077", hadoop=Path("/etc/hadoop"))


SANDBOX = DriverSandbox(
    SandboxLevel.FULL, (Path("/data/warehouse/o1"),), (Path("/etc/trust.jks"),), ("/data",), (8020, 9000)
)


@pytest.fixture
def settings(tmp_path: Path) -> DriverSettings:
    """Return the settings of an embedded driver.

    The configuration of its Java is a symbolic link, as on Debian.
    """
    (tmp_path / "system").mkdir()
    (tmp_path / "java" / "bin").mkdir(parents=True)
    (tmp_path / "java" / "conf").symlink_to(tmp_path / "system")
    (tmp_path / "java" / "lib").mkdir()
    (tmp_path / "java" / "lib" / "security").symlink_to(tmp_path / "system")
    java, jar, scratch = tmp_path / "java" / "bin" / "java", Path("/cache/guard.jar"), tmp_path / "scratch"
    tools = Toolchain(java, 17, jar, jar, jar, Path("/cache/class-archives/1/driver.jsa"))
    return DriverSettings(tools, tmp_path / "log", scratch, "", cluster=HERE, sandbox=SANDBOX)


def test_an_embedded_driver_reads_its_jars_and_java_and_writes_its_folders(
    settings: DriverSettings, tmp_path: Path
) -> None:
    policy = driver_policy(settings, PORTS)

    assert {"/cache/guard.jar", "/cache/class-archives/1", "/etc/trust.jks", str(tmp_path / "system")} <= set(
        policy.reads
    )
    assert set(policy.writes) == {"/dev/null", str(settings.scratch), "/data/warehouse/o1"}
    assert policy.executes[0] == str(tmp_path / "java")
    assert policy.forbidden == ("/data",)
    assert not any(Path("/data").is_relative_to(each) or Path.home().is_relative_to(each) for each in policy.reads)


def test_an_embedded_driver_has_its_own_ports_and_those_of_the_api_only(
    settings: DriverSettings,
) -> None:
    policy = driver_policy(settings, PORTS)

    assert set(policy.connects) == {8020, 9000, *PORTS.all}
    assert set(policy.listens) == set(PORTS.all)
    assert {policy.datagrams, policy.unix_sockets, policy.processes} == {False}
    assert policy.memory_bytes == (2 * 2 << 30) + (2 << 30) + (3120 * 16 << 20)


def test_the_memory_of_a_driver_suffices_for_the_stacks_of_all_its_threads() -> None:
    """Spark's pools keep idle threads, so the number of threads can exceed the number of tasks that run at once."""
    pools = dict(THREAD_POOLS)
    subqueries = pools["spark.sql.subquery.maxThreadThreshold"]

    assert pools["spark.sql.resultQueryStage.maxThreadThreshold"] >= PER_DRIVER + subqueries
    streams = re.search(r"Overall = (\d+)", ACTIVE_STREAMS.read_text(encoding="utf-8"))
    assert streams is not None
    assert PER_DRIVER + CALLS + 2 * int(streams[1]) + 400 <= sandbox._OTHER_THREADS


def test_a_driver_of_a_remote_cluster_is_restricted_in_files_only_and_resolves_names(settings: DriverSettings) -> None:
    policy = driver_policy(replace(settings, cluster=FAR), PORTS)

    assert "/etc/hadoop" in policy.reads
    assert policy.datagrams
    assert (choose_level(replace(settings, cluster=FAR)), choose_level(settings)) == (
        SandboxLevel.FILES_ONLY,
        SandboxLevel.FULL,
    )
    assert choose_level(replace(settings, cluster=FAR, sandbox=DriverSandbox())) is SandboxLevel.NONE


def test_a_driver_on_kubernetes_reads_the_credentials_of_its_account(
    settings: DriverSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/etc/kube/config")

    policy = driver_policy(replace(settings, cluster=Cluster("pods", "k8s://https://master")), PORTS)

    assert {"/etc/kube/config", "/var/run/secrets/kubernetes.io"} <= set(policy.reads)
