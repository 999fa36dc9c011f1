"""A real standalone cluster on loopback: a master and a worker, each a separate process, from the jars of PySpark."""

import os
import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headgate.spark.driver.clusters import Cluster
from headgate.spark.driver.config import OPENED
from headgate.spark.toolchain.jars import spark_jars
from headgate.spark.toolchain.prepare import Toolchain
from tests.app.server_process import PS, until
from tests.short_lived_drivers import QUICK_JVM_OPTIONS

LOOPBACK = "127.0.0.1"


class Standalone:
    """One master and one worker; `cluster` is the configuration of a driver on them."""

    def __init__(self, toolchain: Toolchain, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._toolchain = toolchain
        self._folder = folder
        self._secret = folder / "secret"
        self._secret.write_text(secrets.token_urlsafe(32), encoding="utf-8")
        self._properties = folder / "spark.conf"
        self._properties.write_text(
            f"spark.authenticate true\nspark.authenticate.secret {self._secret.read_text(encoding='utf-8')}\n"
            "spark.network.crypto.enabled true\nspark.ui.enabled false\n"
            "spark.master.rest.enabled false\nspark.ui.killEnabled false\n",
            encoding="utf-8",
        )
        self._properties.chmod(0o600)
        self._port = _free_port()
        self.events = folder / "events"
        """The folder of the drivers' event logs, which contain the properties of each job."""
        self.events.mkdir()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master: subprocess.Popen[bytes]
        self.worker: subprocess.Popen[bytes]

    @property
    def cluster(self) -> Cluster:
        """The configuration of the cluster, as an operator writes it."""
        conf = {
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.cores.max": "1",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": self.events.as_uri(),
        }
        return Cluster("big", self.url, secret_file=self._secret, memory="512m", conf=conf)

    @property
    def url(self) -> str:
        """The URL of the master."""
        return f"spark://{LOOPBACK}:{self._port}"

    @property
    def file(self) -> str:
        """The configuration of the cluster as a table of the clusters' file."""
        conf = ", ".join(f'"{key}" = "{value}"' for key, value in self.cluster.conf.items())
        return f'[big]\nmaster = "{self.url}"\nsecret_file = "{self._secret}"\nmemory = "512m"\nat_once = 2\nconf = {{{conf}}}\n'

    def begin_master(self) -> None:
        """Start a master, at the port of the previous one."""
        port, none = str(self._port), str(_free_port())
        self.master = self._start("master", "master.Master", "--host", LOOPBACK, "--port", port, "--webui-port", none)
        until(lambda: _listens(self._port), lambda: self._log("master"))

    def begin_worker(self) -> None:
        """Start a worker with resources for two executors."""
        work = self._folder / "work"
        arguments = ("--host", LOOPBACK, "--webui-port", str(_free_port()), "--cores", "2", "--memory", "2g")
        self.worker = self._start("worker", "worker.Worker", *arguments, "--work-dir", str(work), self.url)
        until(lambda: "Successfully registered" in self._log("worker"), lambda: self._log("worker"))

    def executors(self) -> list[int]:
        """Return the processes of the executors."""
        listed = subprocess.run(
            [PS, "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        ).stdout
        rows = (line.split(None, 2) for line in listed.splitlines())
        return [
            int(row[0]) for row in rows if int(row[1]) == self.worker.pid and "CoarseGrainedExecutorBackend" in row[2]
        ]

    def end(self) -> None:
        """Kill the remaining processes, workers first."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def _start(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [
            str(self._toolchain.java),
            "-Xmx256m",
            *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
            "-cp",
            f"{spark_jars()}{os.sep}*",
            f"org.apache.spark.deploy.{main}",
            "--properties-file",
            str(self._properties),
            *arguments,
        ]
        environ = {
            "SPARK_HOME": str(spark_jars().parent),
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_LOCAL_IP": LOOPBACK,
            "PATH": os.environ["PATH"],
            "JDK_JAVA_OPTIONS": " ".join(QUICK_JVM_OPTIONS),  # the executors inherit it
        }
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, env=environ)
        self._processes.append(process)
        return process

    def _log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(encoding="utf-8")


@contextmanager
def standalone(toolchain: Toolchain, folder: Path) -> Iterator[Standalone]:
    """Run a cluster for the length of the block."""
    made = Standalone(toolchain, folder)
    try:
        made.begin_master()
        made.begin_worker()
        yield made
    finally:
        made.end()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0
