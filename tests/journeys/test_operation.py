"""`headgate serve` as an operator runs it, without Spark: its log, its certificate, its shutdown."""

import json
import os
import signal
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.app.server_process import HEADGATE, until
from tests.endpoints.http.test_tls import issue, shown

pytestmark = pytest.mark.timeout(180)


class Operated:
    """A server process, with its standard output and standard error in files."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.out, self.err = folder / "out", folder / "err"
        mine = {"HEADGATE_DATA": str(folder / "data"), "HEADGATE_API_PORT": "0", "HEADGATE_SPARK": "0"}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
        with self.out.open("wb") as out, self.err.open("wb") as err:
            command = [str(HEADGATE), "serve"]
            self.process = subprocess.Popen(command, env={**inherited, **mine, **environ}, stdout=out, stderr=err)

    @property
    def url(self) -> httpx.URL:
        """The URL that the server has printed."""
        line = until(lambda: next((each for each in self._lines() if each.startswith("API at ")), None), self._told)
        return httpx.URL(line.split()[2])

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Send a GET request, without a check of the certificate."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return httpx.get(self.url.copy_with(path=path), headers=headers, verify=context, trust_env=False, timeout=30)

    def end(self) -> int:
        """Ask the server to shut down with SIGTERM, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def _lines(self) -> list[str]:
        return self.out.read_text(encoding="utf-8").splitlines()

    def _told(self) -> str:
        return self.out.read_text(encoding="utf-8") + self.err.read_text(encoding="utf-8")


@contextmanager
def operated(folder: Path, **environ: str) -> Iterator[Operated]:
    server = Operated(folder, **environ)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()


class TestAServer:
    def test_a_server_logs_each_request_as_a_line_of_json_and_ends_in_order(self, tmp_path: Path) -> None:
        with operated(tmp_path, HEADGATE_LOG="json") as server:
            answer = server.get("/api/v1/health", **{"x-request-id": "operator-1"})
            ready = server.get("/readyz")
            code = server.end()

        lines = [json.loads(line) for line in server.err.read_text(encoding="utf-8").splitlines()]
        told = [line for line in lines if line.get("request") == "operator-1"]
        assert (answer.status_code, ready.status_code, code) == (200, 200, 0)
        assert [(line["route"], line["status"]) for line in told] == [("/api/v1/health", 200)]

    def test_a_server_shows_a_new_certificate_after_a_hangup(self, tmp_path: Path) -> None:
        certificate, key = issue(tmp_path, "one")
        with operated(tmp_path, HEADGATE_TLS_CERT=str(certificate), HEADGATE_TLS_KEY=str(key)) as server:
            url = server.url
            before = shown((url.host, url.port or 0))
            issue(tmp_path, "two")
            server.process.send_signal(signal.SIGHUP)
            until(lambda: shown((url.host, url.port or 0)) == "two", lambda: "the old certificate is still shown")

            assert (before, url.scheme, server.get("/healthz").status_code) == ("one", "https", 200)

    def test_a_server_that_would_send_tokens_in_the_clear_does_not_start(self, tmp_path: Path) -> None:
        with operated(tmp_path, HEADGATE_BIND="0.0.0.0") as server:  # noqa: S104 (the setting under test)
            assert server.process.wait(60) == 1

        assert "HEADGATE_INSECURE_HTTP=1" in server.err.read_text(encoding="utf-8")
