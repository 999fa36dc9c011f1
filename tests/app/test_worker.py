"""`headgate worker`: a separate process that executes runs beside a server, where the set-up allows it."""

import itertools
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from headgate.app.settings.settings import Settings, SettingsError
from headgate.app.worker import StandaloneWorker
from tests.app.deployment_harness import settings_in


def apart(settings: Settings) -> StandaloneWorker:
    return StandaloneWorker(settings, print)


class TestAWorkerApart:
    def test_a_separate_worker_is_refused_for_a_store_in_the_data_folder(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match="only one process can use it, and the server executes runs itself"):
            apart(settings_in(tmp_path))

        assert not (tmp_path / "data").exists()

    def test_a_separate_worker_refuses_a_remote_gateway_without_tls(self, tmp_path: Path) -> None:
        settings = replace(
            settings_in(tmp_path), store_url="postgresql://x/y", gateway="http://spark.example.com:15002"
        )

        with pytest.raises(SettingsError, match="use an `https://` URL"):
            apart(settings)

    def test_a_separate_worker_is_not_ready_while_its_gateway_does_not_answer(
        self, tmp_path: Path, postgres_url: str, free_port: int
    ) -> None:
        gateway = f"http://localhost:{free_port}"
        worker = apart(replace(settings_in(tmp_path), store_url=postgres_url, gateway=gateway))

        assert not worker.worker._ready()

        worker.stop()
        worker.run()

    @pytest.mark.timeout(60)
    def test_a_separate_worker_waits_without_a_lock_that_its_signal_handler_needs(
        self, tmp_path: Path, postgres_url: str
    ) -> None:
        lines = itertools.count()

        def stop_at_second_line(frame: FrameType, event: str, _: Any) -> Any:
            # At the second line of `threading.Event.wait`, the lock of the event is held.
            waits = frame.f_code.co_filename == threading.__file__ and frame.f_code.co_name == "wait"
            if event == "line" and waits and next(lines) == 1:
                worker.stop()
            return stop_at_second_line

        settings = replace(settings_in(tmp_path), store_url=postgres_url)
        worker = StandaloneWorker(settings, lambda _: sys.settrace(stop_at_second_line))
        threading.Timer(2, worker.stop).start()
        before = sys.gettrace()
        try:
            worker.run()
        finally:
            sys.settrace(before)

    @pytest.mark.timeout(180)
    def test_a_separate_worker_prints_its_configuration_and_ends_on_sigterm(
        self, tmp_path: Path, postgres_url: str
    ) -> None:
        environ = {
            **os.environ,
            "HEADGATE_STORE": postgres_url,
            "HEADGATE_DATA": str(tmp_path),
            "HEADGATE_WORKER_SLOTS": "3",
        }
        command = [sys.executable, "-c", "from headgate.cli import main; main()", "worker"]
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=60)

        assert "executes up to 3 runs at once, on Spark at http://localhost:15002" in line
        assert (rest, process.returncode) == ("ended\n", 0)
