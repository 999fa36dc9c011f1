"""Events that the server must survive: signals, killed processes, a second server, a port in use; with a real driver."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.app.server_process import HEADGATE, Serving, is_alive, serving, until
from tests.short_lived_drivers import PROGRAM

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("serving") / "data"


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Serving]:
    with serving(folder, program=PROGRAM) as running:
        running.until_ready()
        yield running


def headgate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(HEADGATE), *arguments], capture_output=True, text=True, timeout=120, check=False)


def one(server: Serving, folder: Path) -> object:
    """The rows of a statement of the owner, over HTTP."""
    token = (folder / "owner.token").read_text(encoding="utf-8").strip()
    answer = httpx.post(
        f"{server.url}/api/v1/sql",
        json={"statement": "SELECT 1 AS one"},
        headers={"authorization": f"Bearer {token}"},
        timeout=120,
        trust_env=False,
    )
    return answer.json().get("rows")


class TestWhileItServes:
    def test_a_second_server_on_the_same_data_folder_is_refused(self, server: Serving, folder: Path) -> None:
        second = headgate("serve", "--data", str(folder), "--api-port", "0", "--spark-port", "0")

        assert second.returncode == 1
        assert str(server.process.pid) in second.stderr
        assert second.stderr.count("\n") == 1

    def test_an_occupied_api_port_is_reported_in_one_line(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]

            refused = headgate("serve", "--data", str(tmp_path / "other"), "--api-port", str(port))

        assert refused.returncode == 1
        assert str(port) in refused.stderr
        assert refused.stderr.count("\n") == 1

    def test_an_occupied_spark_port_is_reported_in_one_line(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]

            refused = headgate("serve", "--data", str(tmp_path / "o"), "--api-port", "0", "--spark-port", str(port))

        assert refused.returncode == 1
        assert str(port) in refused.stderr
        assert refused.stderr.count("\n") == 1

    def test_a_killed_driver_is_reported_and_started_again(self, server: Serving, folder: Path) -> None:
        jvm = server.jvm()
        assert one(server, folder) == [[1]]

        os.kill(jvm, signal.SIGKILL)
        # Other lines may be printed first, because a request is logged after its answer is sent.
        server.until_printed("the Spark driver exited")
        server.until_ready()

        assert server.jvm() != jvm
        # The token's Spark session ended with the driver; the first statement already runs in a new one.
        assert one(server, folder) == [[1]]


class TestTheEnd:
    """The last tests, because they stop the server of the module."""

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
    def test_a_server_that_ends_leaves_no_jvm_and_can_be_started_again(
        self, server: Serving, folder: Path, number: int
    ) -> None:
        if server.process.poll() is not None:
            again = Serving(folder, program=PROGRAM)
            again.until_ready()
            server = again
        jvm = server.jvm()

        code = server.end(number)

        assert code == (0 if number == signal.SIGINT else -signal.SIGKILL)
        until(lambda: not is_alive(jvm), server.failure("the JVM outlived its parent"))
