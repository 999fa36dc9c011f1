"""The demo as a new user runs it: it succeeds, serves on the same data when run again, and ends when interrupted."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tests.app.inside_driver import InsideDriver
from tests.app.server_process import HEADGATE, Serving, children, is_alive, serving, until
from tests.postgres import PostgresServer
from tests.sandbox import without_landlock
from tests.sandbox.levels import is_full, require_said
from tests.sandbox.refusals import REFUSAL
from tools.wheels import build, imported_from, install_wheel

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

INTERRUPTED = 130


def holds(output: str) -> None:
    """Require the main results of the demo in its output."""
    assert "336,776 rows in lake.raw.flights" in output
    assert "56 of 56 attempts ended as expected" in output
    assert "which ada can assign" in output


def test_the_demo_of_the_built_wheel_ends_as_expected_and_serves_until_it_is_interrupted(
    tmp_path: Path, toolchain: Toolchain, postgres: PostgresServer
) -> None:
    (tmp_path / "inside").mkdir()
    python = install_wheel(build(tmp_path), tmp_path / "venv")
    assert imported_from(python).is_relative_to(tmp_path / "venv")
    inside = InsideDriver(tmp_path / "inside", toolchain, python)
    with serving(tmp_path / "d", "demo", inside.command) as demo:
        demo.until_printed("paste into Python")
        holds(demo.output)
        require_said(demo.output)
        jvm = demo.jvm()

        the_driver_reaches_nothing_else(inside, demo, tmp_path / "d", postgres.port)

        assert demo.end() == INTERRUPTED
        until(lambda: not is_alive(jvm), demo.failure("the JVM outlived the demo"))


def the_driver_reaches_nothing_else(inside: InsideDriver, demo: Serving, data: Path, database: int) -> None:
    """Require that the kernel refuses everything that the driver's own code tries outside of its work.

    It tries tokens, keys, the store, homes, processes and addresses.
    """
    if not is_full():
        return
    attempts = [*files(data, Path.home()), *processes(demo.process.pid), *addresses(demo, database)]
    attempts += [("execute", "/bin/true"), ("execute", sys.executable), ("link", str(data / "scratch" / "link"))]

    ended = inside.results([*attempts, ("read", "/proc/self/status"), ("list", str(data / "scratch" / "organization"))])

    assert ended[-2:] == ["done", "done"]
    held_not = {each: end for each, end in zip(attempts, ended, strict=False) if not REFUSAL.search(end)}
    assert held_not == {}


def files(data: Path, home: Path) -> Iterator[tuple[str, str]]:
    """Yield the attempts on files: the data folder outside of the organization's own folders, and the user's home."""
    own = ("warehouse/organization", "checkpoints/organization", "scratch/organization")
    there = [each for each in data.rglob("*") if not each.relative_to(data).as_posix().startswith(own)]
    assert {"owner.token", "keys", "logs"} <= {each.name for each in there}
    yield from (("list" if each.is_dir() else "read", str(each)) for each in (data, *there, home, *home.iterdir()))
    yield from (("delete", str(each)) for each in there if each.is_file())
    yield from (("write", str(folder / f"new-{os.getpid()}")) for folder in (data, data / "keys", home, Path("/tmp")))  # noqa: S108
    yield from (
        ("read", each) for each in ("/etc/shadow", "/etc/fstab", "/etc/hostname", "/dev/tty") if Path(each).exists()
    )
    yield from (("list", each) for each in ("/", "/home", "/root", "/tmp", "/var", "/run", "/proc"))  # noqa: S108


def processes(server: int) -> Iterator[tuple[str, str]]:
    """Yield the attempts on other processes: the server, its other children, the tests, and the first process."""
    for process in (server, *children(server, "python"), os.getpid(), 1):
        for name in ("environ", "cmdline", "maps", "mem", "status", "root/etc/passwd", "cwd/README.md"):
            yield "read", f"/proc/{process}/{name}"
        yield "list", f"/proc/{process}/fd"


def addresses(demo: Serving, database: int) -> Iterator[tuple[str, str, str]]:
    """Yield the attempts on addresses: at least 20, of this machine and others; some of them are listened on."""
    here = ("127.0.0.1", "localhost", "::1", "0.0.0.0")  # noqa: S104
    spark = urlsplit(demo.until_printed(r"sc://localhost:(\d+)")[0]).port
    yield from (("connect", host, str(port)) for host in here for port in (22, 80, 5432, database, spark))
    others = ("169.254.169.254", "10.0.0.1", "192.168.0.1", "1.1.1.1", "8.8.8.8", "100.100.100.200")
    yield from (("connect", host, port) for host in others for port in ("80", "443", "53"))
    yield from (("send", host, "53") for host in ("127.0.0.1", "1.1.1.1", "8.8.8.8"))


@pytest.mark.soak
def test_the_demo_can_be_run_again_after_it_was_interrupted(tmp_path: Path) -> None:
    with serving(tmp_path / "d", "demo") as demo:
        demo.until_printed("airlines.csv into")
        assert demo.end() == INTERRUPTED

    with serving(tmp_path / "d", "demo") as demo:
        demo.until_printed("paste into Python")
        holds(demo.output)
        require_said(demo.output)
        assert demo.end() == INTERRUPTED


@pytest.mark.soak
def test_the_demo_runs_where_the_machine_has_no_sandbox_and_says_so(tmp_path: Path) -> None:
    demo = [str(HEADGATE), "demo", "--once", "--data", str(tmp_path / "d"), "--api-port", "0", "--spark-port", "0"]
    without = [*without_landlock.COMMAND, *demo]

    ends = {
        wanted: subprocess.run(
            without,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
            env=os.environ | {"HEADGATE_SANDBOX": wanted},
        )
        for wanted in ("prefer", "require")
    }

    assert ends["prefer"].returncode == 0, ends["prefer"].stdout + ends["prefer"].stderr
    holds(ends["prefer"].stdout)
    assert without_landlock.NOT_ENFORCED in ends["prefer"].stdout + ends["prefer"].stderr
    assert ends["require"].returncode == 1
    assert without_landlock.NOT_ENFORCED in ends["require"].stdout + ends["require"].stderr


@pytest.mark.soak
def test_the_demo_can_be_run_again(tmp_path: Path) -> None:
    once = [str(HEADGATE), "demo", "--once", "--data", str(tmp_path / "d"), "--api-port", "0", "--spark-port", "0"]

    for _ in range(2):
        ended = subprocess.run(once, capture_output=True, text=True, timeout=400, check=False)

        assert ended.returncode == 0, ended.stdout + ended.stderr
        holds(ended.stdout)
        require_said(ended.stdout + ended.stderr)
