"""Sandboxed processes on this kernel, at each level that the kernel enforces."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from headgate.sandbox import Policy, SandboxLevel, landlock
from headgate.sandbox.entry_point import FAILED
from headgate.sandbox.launch import DEVICES, LOADERS, SYSTEM, find_level, sandbox_command
from tests.conftest import IN_CI

ATTEMPTS: Final = str(Path(__file__).with_name("attempts.py").resolve())
PYTHON: Final = f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
FIRST_WITH_SIGNALS: Final = 6
REFUSED: Final = {"EACCES", "EPERM"}


@pytest.fixture(params=[SandboxLevel.FULL, SandboxLevel.FILES_ONLY], ids=lambda level: level.value)
def level(request: pytest.FixtureRequest) -> SandboxLevel:
    wanted = SandboxLevel(request.param)
    enforced, why = find_level()
    if enforced is SandboxLevel.NONE or (wanted is SandboxLevel.FULL and enforced is not SandboxLevel.FULL):
        if IN_CI:
            pytest.fail(f"the sandbox cannot be tried at the level `{wanted.value}`: {why}")
        pytest.skip(f"this kernel does not enforce the level `{wanted.value}`: {why}")
    return wanted


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("written", "read", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x", encoding="utf-8")
        (tmp_path / name / "file").chmod(0o600)
    return tmp_path


@pytest.fixture
def policy(folder: Path) -> Policy:
    """Return a policy with the files that Python needs, one readable folder and one writable folder."""
    return Policy(
        reads=(*SYSTEM, sys.prefix, sys.base_prefix, ATTEMPTS, str(folder / "read")),
        # Only the program: the folder of a system Python contains everything of the machine.
        executes=(str(Path(PYTHON).resolve()), *LOADERS),
        writes=(*DEVICES, str(folder / "written")),
        forbidden=(str(folder / "closed"),),
    )


@pytest.fixture
def port() -> Iterator[int]:
    """Return a port of the loopback interface that a process listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def neighbour() -> Iterator[int]:
    """Return the id of a process of the same user, outside the sandbox."""
    with subprocess.Popen((PYTHON, "-I", "-S", "-c", "input()"), stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ends_with(policy: Policy) -> Policy:
    return replace(policy, ends_with_parent=True)


def attempt(policy: Policy, level: SandboxLevel, name: str, argument: object = "") -> str:
    """Return how an attempt in a sandboxed process ended."""
    command = (PYTHON, "-I", "-S", ATTEMPTS, name, str(argument))
    done = subprocess.run(
        sandbox_command(command, policy, level), capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "path", "may"),
    [
        ("read", "written/file", True),
        ("write", "written/new", True),
        ("create folder", "written/new", True),
        ("delete", "written/file", True),
        ("list", "written", True),
        ("read", "read/file", True),
        ("list", "read", True),
        ("write", "read/file", False),
        ("write", "read/new", False),
        ("create folder", "read/new", False),
        ("delete", "read/file", False),
        ("cut", "read/file", False),
        ("change mode", "read/file", False),
        ("change mode", "written/file", False),
        ("link", "written/link", False),
        ("read", "closed/file", False),
        ("list", "closed", False),
        ("write", "closed/file", False),
        ("cut", "closed/file", False),
        ("delete", "closed/file", False),
        ("list", ".", False),
        ("read", "written/../closed/file", False),
        ("list", "/", False),
        ("list", "/home", False),
        ("list", "/proc", False),
        ("read", "/proc/self/status", True),
    ],
)
def test_a_process_uses_the_listed_files_only(
    policy: Policy, level: SandboxLevel, folder: Path, name: str, path: str, *, may: bool
) -> None:
    ended = attempt(policy, level, name, folder / path)

    assert (ended == "done") is may, ended
    if not may:
        assert ended in REFUSED
        assert attempt(policy, SandboxLevel.NONE, name, folder / path) == "done", (
            "the refusal does not come from the sandbox"
        )


@pytest.mark.parametrize("path", ["/etc/shadow", "/proc/1/environ", "/proc/1/cmdline"])
def test_a_process_reads_nothing_of_root(policy: Policy, level: SandboxLevel, path: str) -> None:
    assert attempt(policy, level, "read", path) in REFUSED


@pytest.mark.parametrize("file", ["environ", "cmdline", "maps", "status"])
def test_a_process_reads_nothing_of_another_process_of_its_user(
    policy: Policy, level: SandboxLevel, neighbour: int, file: str
) -> None:
    assert attempt(policy, level, "read", f"/proc/{neighbour}/{file}") in REFUSED
    assert attempt(policy, SandboxLevel.NONE, "read", f"/proc/{neighbour}/{file}") == "done"


def test_a_process_follows_no_link_out_of_its_folders(policy: Policy, level: SandboxLevel, folder: Path) -> None:
    (folder / "written" / "out").symlink_to(folder / "closed" / "file")

    assert attempt(policy, level, "read", folder / "written" / "out") in REFUSED


def test_a_process_connects_to_listed_ports_only(policy: Policy, port: int) -> None:
    wide = replace(policy, connects=(port,))

    assert attempt(policy, SandboxLevel.FULL, "connect", port) == "EACCES"
    assert attempt(wide, SandboxLevel.FULL, "connect", port) == "done"
    assert attempt(replace(policy, connects=(port + 1,)), SandboxLevel.FULL, "connect", port) == "EACCES"
    assert attempt(wide, SandboxLevel.FULL, "connect by sending", port) == "EPERM"
    assert attempt(policy, SandboxLevel.FILES_ONLY, "connect", port) == "done"


def test_a_process_listens_on_listed_ports_only(policy: Policy) -> None:
    port = free_port()

    assert attempt(policy, SandboxLevel.FULL, "listen", port) == "EACCES"
    assert attempt(policy, SandboxLevel.FULL, "listen", 0) == "EACCES"
    assert attempt(replace(policy, listens=(port,)), SandboxLevel.FULL, "listen", port) == "done"
    assert attempt(replace(policy, connects=(port,)), SandboxLevel.FULL, "listen", port) == "EACCES"


def test_a_process_has_only_the_sockets_of_its_policy(policy: Policy, level: SandboxLevel, folder: Path) -> None:
    path = str(folder / "written" / "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()

        assert attempt(policy, level, "connect local", path) == "EPERM"
        assert attempt(replace(policy, unix_sockets=True), level, "connect local", path) == "done"
    assert attempt(policy, level, "send datagram", 53) == "EPERM"
    assert attempt(replace(policy, datagrams=True), level, "send datagram", 53) == "done"


def test_a_process_starts_others_only_if_its_policy_allows_it(policy: Policy, level: SandboxLevel) -> None:
    wide = replace(policy, processes=True, executes=(*policy.executes, "/usr/bin/true", "/bin/true"))

    assert attempt(policy, level, "start process", "/bin/true") == "EPERM"
    assert attempt(wide, level, "start process", "/bin/true") == "done"
    assert attempt(replace(policy, processes=True), level, "start process", "/bin/true") == "EACCES"
    assert attempt(policy, level, "run thread") == "done"


@pytest.mark.parametrize("name", ["signal", "limit"])
def test_a_process_cannot_signal_or_limit_another_process(
    policy: Policy, level: SandboxLevel, neighbour: int, name: str
) -> None:
    assert attempt(policy, level, name, neighbour) == "EPERM"
    assert attempt(policy, SandboxLevel.NONE, name, neighbour) == "done"


def test_a_process_with_children_signals_no_process_outside(policy: Policy, level: SandboxLevel) -> None:
    if landlock.version() < FIRST_WITH_SIGNALS:
        pytest.skip("this kernel's Landlock does not decide about signals")

    assert attempt(replace(policy, processes=True), level, "signal", os.getpid()) == "EPERM"


def test_a_process_ends_with_the_process_that_started_it(policy: Policy, level: SandboxLevel) -> None:
    command = (PYTHON, "-I", "-S", ATTEMPTS, "wait", "60")
    starts = f"import subprocess, time; subprocess.Popen({sandbox_command(command, ends_with(policy), level)!r}); time.sleep(60)"
    with subprocess.Popen((sys.executable, "-c", starts), stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "waits\n"

        parent.kill()

        # The pipe closes when no process holds it open, so the sandboxed process has ended too.
        assert parent.stdout.read() == ""


def test_a_process_cannot_choose_to_outlive_the_process_that_started_it(policy: Policy, level: SandboxLevel) -> None:
    assert attempt(ends_with(policy), level, "outlive parent") == "EPERM"


def test_a_process_without_children_becomes_no_other_program(policy: Policy, level: SandboxLevel) -> None:
    """A program started by a thread other than the first would outlive the process that started this one."""
    assert attempt(ends_with(policy), level, "become a program in a thread", sys.executable) == "EPERM"


def test_a_process_becomes_no_other_user(policy: Policy, level: SandboxLevel) -> None:
    assert attempt(policy, level, "become user", 65534) == "EPERM"
    # Only root may change its user; without a sandbox, every process may change to the user that it already is.
    assert attempt(policy, level, "become user", os.getuid()) == "EPERM"
    assert attempt(policy, SandboxLevel.NONE, "become user", os.getuid()) == "done"


def test_the_memory_and_the_open_files_of_a_process_are_limited_by_its_policy(
    policy: Policy, level: SandboxLevel
) -> None:
    small = replace(policy, memory_bytes=256 << 20, open_files=20)

    assert attempt(policy, level, "take memory", 400) == "done"
    assert attempt(small, level, "take memory", 400) == "ENOMEM"
    assert attempt(small, level, "take memory", 50) == "done"
    assert attempt(small, level, "open files", 10) == "done"
    assert attempt(small, level, "open files", 30) == "EMFILE"


def test_a_stricter_sandbox_starts_within_a_sandbox(policy: Policy, level: SandboxLevel, folder: Path) -> None:
    outer = replace(policy, processes=True, reads=(*policy.reads, str(Path("src").resolve())))
    narrow = replace(policy, writes=DEVICES)
    command = (PYTHON, "-I", "-S", ATTEMPTS, "write", str(folder / "written" / "new"))
    inner = sandbox_command(command, narrow, level)

    done = subprocess.run(
        sandbox_command((PYTHON, *inner[1:]), outer, level),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={"PYTHONPATH": str(Path("src").resolve())},
    )

    assert done.stdout.strip() == "EACCES", done.stderr
    assert attempt(outer, level, "write", folder / "written" / "new") == "done"


def test_a_process_that_could_open_a_forbidden_file_does_not_start(
    policy: Policy, level: SandboxLevel, folder: Path
) -> None:
    wide = replace(policy, reads=(*policy.reads, str(folder / "closed")))

    done = subprocess.run(
        sandbox_command((PYTHON, "-c", "1"), wide, level), capture_output=True, text=True, check=False
    )

    assert done.returncode == FAILED
    assert done.stderr.strip() == (
        f"sandbox: the kernel does not enforce the sandbox: a sandboxed process can open `{folder / 'closed'}`; "
        "start Headgate on another Linux kernel, and report the version of this one"
    )


def test_a_writable_folder_of_a_policy_must_exist(policy: Policy, level: SandboxLevel, folder: Path) -> None:
    wide = replace(policy, writes=(*policy.writes, str(folder / "missing")))

    done = subprocess.run(
        sandbox_command((PYTHON, "-c", "1"), wide, level), capture_output=True, text=True, check=False
    )

    assert done.returncode == FAILED
    assert "does not exist; create it" in done.stderr


def test_a_command_without_a_sandbox_is_unchanged(policy: Policy) -> None:
    assert sandbox_command(("java", "-version"), policy, SandboxLevel.NONE) == ("java", "-version")
