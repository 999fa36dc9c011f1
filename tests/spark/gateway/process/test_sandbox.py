"""The sandbox of the gateway process: it opens no file of the data folder, and reaches only server and drivers."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.sandbox import SandboxLevel
from headgate.spark.gateway.process.config import ProcessConfig
from headgate.spark.gateway.process.sandbox import GatewaySandbox
from tests.sandbox.levels import require_full

ATTEMPTS = str(Path("tests/sandbox/attempts.py").resolve())
PARSES = """
import asyncio, io, pyarrow as pa
from headgate.untrusted_input.pool import ParserPool
sink, table = io.BytesIO(), pa.table({"a": [1, 2, 3]})
with pa.ipc.new_stream(sink, table.schema) as writer:
    writer.write_table(table)
async def rewritten():
    pool = ParserPool()
    (stream,) = await pool.rewrite("ann", b"arrow", [sink.getvalue()], lambda _: None)
    pool.close()
    return pa.ipc.open_stream(stream).read_all().num_rows
print(asyncio.run(rewritten()))
"""
REFUSED = {"EACCES", "EPERM"}


class Gateway:
    """A Python process in place of the gateway: with a certificate, a data folder, a server and a driver."""

    def __init__(self, folder: Path, authority: int, driver: int) -> None:
        self.data, self.certificates = folder / "data", folder / "tls"
        for each in (self.data, self.data / "keys", self.certificates):
            each.mkdir()
        (self.data / "owner.token").write_text("x", encoding="utf-8")
        (self.data / "owner.token").chmod(0o600)
        certificate, key = self.certificates / "cert.pem", self.certificates / "key.pem"
        key.write_text("x", encoding="utf-8")
        self._told = ProcessConfig("127.0.0.1", 0, 0, f"http://127.0.0.1:{authority}", "k", certificate, key)
        self._drivers, self._forbidden = (driver,), (str(self.data), str(Path.home()))

    def ends(self, *code: str, level: SandboxLevel = SandboxLevel.FULL) -> str:
        """Return the output of Python in the gateway's sandbox."""
        sandbox = GatewaySandbox(level, self._drivers, self._forbidden)
        command = sandbox.command((sys.executable, "-P", *code), self._told)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def tries(self, name: str, argument: object, level: SandboxLevel = SandboxLevel.FULL) -> str:
        """Return how an attempt ended."""
        return self.ends("-c", Path(ATTEMPTS).read_text(encoding="utf-8"), name, str(argument), level=level)


@pytest.fixture
def ports() -> Iterator[tuple[int, int, int]]:
    """Return three ports that a process listens on: the server's, a driver's, and another."""
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    yield tuple(each.getsockname()[1] for each in servers)  # pyright: ignore[reportReturnType]
    for each in servers:
        each.close()


@pytest.fixture
def gateway(tmp_path: Path, ports: tuple[int, int, int]) -> Gateway:
    require_full()
    return Gateway(tmp_path, ports[0], ports[1])


def test_the_gateway_opens_no_file_of_the_data_folder(gateway: Gateway) -> None:
    attempts = [("read", gateway.data / "owner.token"), ("list", gateway.data), ("list", gateway.data / "keys")]
    attempts += [("list", Path.home()), ("write", gateway.data / "new"), ("write", gateway.certificates / "new")]
    attempts += [("read", Path(f"/proc/{os.getpid()}/environ"))]

    assert {gateway.tries(*each) for each in attempts} <= REFUSED
    assert {gateway.tries(*each, SandboxLevel.NONE) for each in attempts} == {"done"}, (
        "the refusals do not come from the sandbox"
    )
    assert gateway.tries("read", "/etc/shadow") in REFUSED
    assert gateway.tries("read", gateway.certificates / "key.pem") == "done"


def test_the_gateway_connects_to_the_server_and_the_drivers_only(gateway: Gateway, ports: tuple[int, int, int]) -> None:
    server, driver, other = ports

    assert [gateway.tries("connect", each) for each in (server, driver, other)] == ["done", "done", "EACCES"]
    assert gateway.tries("send datagram", 53) == "EPERM"
    assert gateway.tries("signal", os.getpid()) == "EPERM"
    assert [gateway.tries(*each, SandboxLevel.NONE) for each in (("connect", other), ("signal", os.getpid()))] == [
        "done"
    ] * 2


def test_the_gateway_starts_its_parsers_and_nothing_else(gateway: Gateway) -> None:
    assert gateway.tries("start process", "/bin/true") == "EACCES"
    assert gateway.ends("-c", PARSES) == "3"
