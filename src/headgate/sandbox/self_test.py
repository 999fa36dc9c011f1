"""Self-test of a sandboxed process before it executes its command: each forbidden attempt must fail."""

import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from headgate.sandbox import libc
from headgate.sandbox.enforcement_level import SandboxLevel
from headgate.sandbox.errors import SandboxError
from headgate.sandbox.policy import Policy

_REFUSED: Final = (errno.EACCES, errno.EPERM)
_LOOPBACK: Final = "127.0.0.1"
_LAST_PORT: Final = 65535
_MPTCP: Final = 262
_TRACE_ME: Final = 0
_PTRACE: Final = {"x86_64": 101, "aarch64": 117}
_IO_URING: Final = 425
"""The number of `io_uring_setup` on every machine."""


def require_enforced(policy: Policy, level: SandboxLevel) -> None:
    """Attempt actions that the policy does not allow. Raises `SandboxError` with all attempts that did not fail."""
    held_not = [what for what, attempt in _attempts(policy, level) if not _is_refused(attempt)]
    if held_not:
        raise SandboxError(
            f"the kernel does not enforce the sandbox: a sandboxed process can {', '.join(held_not)}; start Headgate on another Linux kernel, and report the version of this one"
        )


def _attempts(policy: Policy, level: SandboxLevel) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the forbidden attempts: a text for the message, and the function that makes the attempt."""
    if "/" not in (*policy.reads, *policy.executes, *policy.writes):
        yield "list `/`", lambda: tuple(Path("/").iterdir())
    for path in policy.forbidden:
        yield f"open `{path}`", lambda path=path: _open(path)
    yield "open a file with access mode 3", lambda: os.close(os.open("/", os.O_WRONLY | os.O_RDWR))
    if level is SandboxLevel.FULL:
        yield "connect to a TCP port that is not listed", lambda: _connect(_find_unlisted_port(policy.connects))
        yield "listen on a TCP port that is not listed", lambda: _listen(_find_unlisted_port(policy.listens))
    if not policy.datagrams:
        yield "use UDP", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    if not policy.unix_sockets:
        yield "use a Unix socket", lambda: socket.socket(socket.AF_UNIX).close()
    yield "use a raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    yield (
        "use a pair of Unix datagram sockets",
        lambda: [each.close() for each in socket.socketpair(type=socket.SOCK_DGRAM)],
    )
    yield "use MPTCP", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, _MPTCP).close()
    yield "use `io_uring`", lambda: libc.system_call(_IO_URING, 1, None)
    yield "be traced", lambda: libc.system_call(_PTRACE[os.uname().machine], _TRACE_ME, 0, None, None)
    yield "change its user id", lambda: os.setuid(os.getuid())
    if not policy.processes:
        yield "start a process", _fork
        yield "execute another program", lambda: os.execv("/proc/self/none", ("none",))  # noqa: S606 (no shell is needed)
        yield "signal another process", lambda: os.kill(os.getppid(), 0)


def _is_refused(attempt: Callable[[], object]) -> bool:
    """Whether the kernel refuses an attempt. A failure for another reason proves nothing."""
    try:
        attempt()
    except OSError as error:
        return error.errno in _REFUSED
    return False


def _open(path: str) -> None:
    """Open a file or list a folder. A missing one counts as refused."""
    try:
        if Path(path).is_dir():
            tuple(Path(path).iterdir())
        else:
            os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError as error:
        raise PermissionError(errno.EACCES, "no file") from error


def _find_unlisted_port(ports: tuple[int, ...]) -> int:
    return next(each for each in range(_LAST_PORT, 0, -1) if each not in ports)


def _connect(port: int) -> None:
    with socket.socket() as probe:
        probe.connect((_LOOPBACK, port))


def _listen(port: int) -> None:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, port))


def _fork() -> None:
    process = os.fork()
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)
