"""A program for a sandbox: tries one thing, and prints `done` or the reason of the failure."""

import ctypes
import errno
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path


def connect(port: str) -> None:
    with socket.socket() as probe:
        probe.connect(("127.0.0.1", int(port)))


def listen(port: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", int(port)))
        probe.listen()


def connect_by_sending(port: str) -> None:
    with socket.socket() as probe:
        probe.sendto(b"x", 0x20000000, ("127.0.0.1", int(port)))


def take_memory(mebibytes: str) -> None:
    bytearray(int(mebibytes) << 20)


def run_thread(_: str) -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


def outlive_parent(_: str) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(1, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "")


def become_a_program_in_a_thread(path: str) -> None:
    errors = list[OSError]()

    def become() -> None:
        try:
            os.execv(path, [path])  # noqa: S606 (no shell is wanted)
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=become)
    thread.start()
    thread.join()
    raise errors[0]


def wait(seconds: str) -> None:
    say("waits")
    time.sleep(float(seconds))


def open_files(count: str) -> None:
    for _ in range(int(count)):
        os.open("/dev/null", os.O_RDONLY)


ATTEMPTS: Mapping[str, Callable[[str], object]] = {
    "read": lambda path: Path(path).read_bytes(),
    "list": os.listdir,
    "write": lambda path: Path(path).write_bytes(b"x"),
    "create folder": os.mkdir,
    "delete": os.unlink,
    "cut": lambda path: os.truncate(path, 0),
    "link": lambda path: Path(path).symlink_to("/etc/passwd"),
    "change mode": lambda path: os.chmod(path, 0o777),  # noqa: PTH101, S103
    "connect": connect,
    "listen": listen,
    "connect by sending": connect_by_sending,
    "connect local": lambda path: socket.socket(socket.AF_UNIX).connect(path),
    "send datagram": lambda port: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
        b"x", ("127.0.0.1", int(port))
    ),
    "start process": lambda path: subprocess.run([path], check=True),
    "signal": lambda process: os.kill(int(process), 0),
    "limit": lambda process: __import__("resource").prlimit(int(process), 7, (10, 10)),
    "take memory": take_memory,
    "run thread": run_thread,
    "open files": open_files,
    "outlive parent": outlive_parent,
    "become a program in a thread": become_a_program_in_a_thread,
    "wait": wait,
    "become user": lambda user: os.setuid(int(user)),
}


def say(ended: str) -> None:
    sys.stdout.write(f"{ended}\n")
    sys.stdout.flush()


def main() -> None:
    attempt, argument = sys.argv[1:]
    try:
        ATTEMPTS[attempt](argument)
    except OSError as error:
        say(errno.errorcode[error.errno or 0])
    except MemoryError:
        say("ENOMEM")
    else:
        say("done")


main()
