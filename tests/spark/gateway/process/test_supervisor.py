"""The supervised gateway process: it restarts after a crash, ends with its parent, and uses the newest certificate."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from pydantic import TypeAdapter

from headgate.sandbox.launch import find_level
from headgate.spark.gateway import protos
from headgate.spark.gateway.process.config import ProcessConfig, ProcessReady
from headgate.spark.gateway.process.sandbox import GatewaySandbox
from headgate.spark.gateway.process.supervisor import GatewayProcess, GatewayProcessError, GatewayState
from tests.endpoints.http.test_tls import issue
from tests.spark.gateway.fake_backend import FakeBackend, fake_backend
from tests.spark.gateway.gateway_harness import KEY, FakeSpark, Tokens, answering
from tests.spark.gateway.raw_client import Client
from tests.threads import event_loop, wait_until


class Scene:
    """A gateway process in front of a driver that records its calls, and the decision service that the gateway asks."""

    def __init__(self, backend: FakeBackend, url: str, spark: FakeSpark, run: Callable[[Any], Any]) -> None:
        self.backend = backend
        self.spark = spark
        self.run = run
        self.said: list[str] = []
        self.told = ProcessConfig("127.0.0.1", 0, 0, url, KEY, drain_seconds=50, log_level="error")

    def sandbox(self) -> GatewaySandbox:
        """Return the sandbox of the process, at the level that this machine enforces."""
        port = int(self.backend.driver.address.rpartition(":")[2])
        return GatewaySandbox(find_level()[0], (port,), (str(Path.home()),))

    @contextmanager
    def process(self, **changed: Any) -> Iterator[GatewayProcess]:
        process = GatewayProcess(
            replace(self.told, **changed), self.spark.forget, self.said.append, sandbox=self.sandbox()
        )
        self.run(process.start())
        try:
            yield process
        finally:
            self.run(process.stop())


@pytest.fixture
def scene() -> Iterator[Scene]:
    spark = FakeSpark()
    with (
        fake_backend() as backend,
        answering(spark, Tokens("ann"), backend.driver) as url,
        event_loop() as run,
    ):
        yield Scene(backend, url, spark, run)


def works(client: Client) -> bool:
    try:
        client.version()
    except grpc.RpcError:
        return False
    return True


def test_a_killed_gateway_serves_again_with_new_sessions(scene: Scene) -> None:
    with scene.process() as process:
        client = Client(process.port, "ann")
        client.version()
        first, port = process.pid, process.port
        assert first is not None

        os.kill(first, signal.SIGKILL)
        wait_until(lambda: process.starts == 2, 40)
        wait_until(lambda: works(client), 40)

        assert process.port == port
        assert process.pid != first
        assert scene.backend.names().count("Config") == 2
        assert len(scene.spark.sessions) == 1
        assert scene.said[-1] == "the Spark gateway serves again"


def test_a_running_statement_fails_as_unavailable_when_the_gateway_is_killed(scene: Scene) -> None:
    scene.backend.held = True
    with scene.process() as process:
        answers = Client(process.port, "ann").begin("ExecutePlan")
        next(answers)
        assert process.pid is not None

        os.kill(process.pid, signal.SIGKILL)

        with pytest.raises(grpc.RpcError) as raised:
            next(answers)
        assert raised.value.code() is grpc.StatusCode.UNAVAILABLE  # pyright: ignore[reportAttributeAccessIssue]


def test_a_running_statement_finishes_when_the_gateway_is_stopped_in_order(scene: Scene) -> None:
    scene.backend.held = True
    with scene.process() as process:
        answers, still = (Client(process.port, "ann").begin("ExecutePlan") for _ in range(2))
        first = next(answers)
        next(still)
        ending = threading.Thread(target=lambda: scene.run(process.stop()))
        ending.start()
        # A call that arrives while the server stops may get no answer until the server has stopped.
        wait_until(lambda: not works(Client(process.port, "ann", seconds=5)), 40)

        scene.backend.interrupted.add(protos.base.ExecutePlanResponse.FromString(first).operation_id)

        assert len(list(answers)) == 2
        scene.backend.go_on.set()
        ending.join()
        assert process.state is GatewayState.STOPPED


def test_a_port_in_use_fails_the_start_of_the_gateway(scene: Scene) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        with pytest.raises(GatewayProcessError):
            scene.run(GatewayProcess(replace(scene.told, port=taken.getsockname()[1]), print, print).start())


def test_the_gateway_ends_at_once_when_its_parent_has_ended(scene: Scene) -> None:
    scene.backend.held = True
    command = [sys.executable, "-P", "-m", "headgate.app.spark.gateway_process"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(TypeAdapter(ProcessConfig).dump_json(scene.told) + b"\n")
        process.stdin.flush()
        ready = TypeAdapter(ProcessReady).validate_json(process.stdout.readline())
        answers = Client(ready.port, "ann").begin("ExecutePlan")
        next(answers)

        process.stdin.close()

        with pytest.raises(grpc.RpcError):
            list(answers)
        assert process.wait(30) == 0


class TestTls:
    def test_clients_need_tls_except_on_the_inner_loopback_port(self, scene: Scene, tmp_path: Path) -> None:
        certificate, key = issue(tmp_path, "localhost")
        with scene.process(tls_cert=certificate, tls_key=key) as process:
            trusted = grpc.ssl_channel_credentials(certificate.read_bytes())
            client = Client(process.port, "ann")
            plain, client.channel = client.channel, grpc.secure_channel(f"localhost:{process.port}", trusted)

            client.version()
            Client(process.inner_port, "ann").version()

            assert process.inner_port != process.port
            with pytest.raises(grpc.RpcError):
                plain.unary_unary("/spark.connect.SparkConnectService/AnalyzePlan")(b"", timeout=5)

    def test_new_connections_get_the_newest_usable_certificate(self, scene: Scene, tmp_path: Path) -> None:
        certificate, key = issue(tmp_path, "first")
        with scene.process(tls_cert=certificate, tls_key=key) as process:
            assert shown(process.port) == "first"

            issue(tmp_path, "second")
            assert shown(process.port) == "second"
            certificate.write_text("broken", encoding="utf-8")
            assert shown(process.port) == "second"
            assert process.starts == 1

    def test_an_unusable_certificate_fails_the_start_of_the_gateway(self, scene: Scene, tmp_path: Path) -> None:
        certificate, key = issue(tmp_path, "localhost")
        key.write_text("no key", encoding="utf-8")

        with pytest.raises(GatewayProcessError, match="cannot be used"):
            scene.run(GatewayProcess(replace(scene.told, tls_cert=certificate, tls_key=key), print, print).start())


def shown(port: int) -> str:
    """Return the name in the certificate that a new connection gets."""
    found = x509.load_pem_x509_certificate(ssl.get_server_certificate(("127.0.0.1", port)).encode())
    return str(found.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)
