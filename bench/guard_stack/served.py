"""Headgate as `headgate serve` starts it, and Spark without Headgate on the same catalog."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from pyspark.sql.connect.session import SparkSession

from bench.guard_stack.plain_spark import last_lines, plain_spark
from headgate.app.settings.settings import default_settings
from headgate.spark.sql.client import connect
from headgate.spark.toolchain.prepare import Toolchain

_HEADGATE = Path(sys.executable).parent / "headgate"
_PATIENCE = 600.0
_ADDRESS = re.compile(r"API at (http://[\d.:]+)/api/v1")


@dataclass(frozen=True, slots=True)
class Served:
    """Both sides, as the owner: a session on plain Spark and one through the gateway, over the same tables."""

    url: str
    token: str
    plain: SparkSession
    guarded: SparkSession

    def api(self) -> httpx.Client:
        """Return a client of the HTTP API and of the catalog, as the owner."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)


@contextmanager
def served(tools: Toolchain, folder: Path) -> Iterator[Served]:
    """Serve a new data folder until the block ends, and run plain Spark beside it, on the same catalog."""
    data, log = folder / "data", folder / "headgate.log"
    command = [str(_HEADGATE), "serve", "--data", str(data), "--api-port", "0", "--spark-port", "0"]
    egress = folder / "egress.yaml"
    egress.write_text(f"organizations: {{organization: {{folders: ['{folder / 'files'}']}}}}\n", encoding="utf-8")
    environ = {**os.environ, "HEADGATE_EGRESS": str(egress)}
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, env=environ)
    try:
        url, port = _ready(server, log)
        token = default_settings({"HEADGATE_DATA": str(data)}).owner_token.read_text(encoding="utf-8").strip()
        guarded = connect(port, token)
        lake = "spark.sql.catalog.lake"
        rest = {f"{lake}.type": "rest", f"{lake}.uri": f"{url}/iceberg", f"{lake}.token": token}
        with plain_spark(tools, folder / "plain", rest) as plain:
            yield Served(url, token, plain, guarded)
        guarded.client.close()
    finally:
        server.terminate()
        server.wait()


def _ready(server: subprocess.Popen[bytes], log: Path) -> tuple[str, int]:
    """Wait until Spark is ready; return the URL of the API and the gateway's port."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        if found := _ADDRESS.search(log.read_text(encoding="utf-8")):
            health = httpx.get(f"{found[1]}/api/v1/health", trust_env=False).json()
            if health["spark"] == "ready":
                return found[1], int(health["spark_port"])
        time.sleep(0.5)
    raise RuntimeError(f"headgate did not start:\n{last_lines(log)}")
