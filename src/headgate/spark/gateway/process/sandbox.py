"""Sandbox policy of the gateway's process: read Python and the certificate, listen, and connect to the server and the drivers."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from headgate.sandbox import Policy, SandboxLevel
from headgate.sandbox.launch import DEVICES, LOADERS, SYSTEM, sandbox_command
from headgate.spark.gateway.process.config import ProcessConfig

_PROCESSES: Final = "/proc"
"""The parsers that it starts read their memory use there. Landlock refuses the files of other processes."""


@dataclass(frozen=True, slots=True)
class GatewaySandbox:
    """The level of the sandbox, the ports of the drivers, and the paths that the gateway must not be able to open."""

    level: SandboxLevel = SandboxLevel.NONE
    connects: tuple[int, ...] = ()
    forbidden: tuple[str, ...] = ()

    def command(self, command: Sequence[str], told: ProcessConfig) -> Sequence[str]:
        """Return the command that starts `command` in the sandbox."""
        return sandbox_command(command, gateway_policy(self, told), self.level)


def gateway_policy(sandbox: GatewaySandbox, told: ProcessConfig) -> Policy:
    """Return the sandbox policy of the gateway. The folder of a certificate is readable, because a renewal adds a file to it."""
    certificates = (str(file.absolute().parent) for file in (told.tls_cert, told.tls_key) if file is not None)
    return Policy(
        reads=(*SYSTEM, _PROCESSES, *certificates, *_of_python()),
        executes=(sys.executable, os.path.realpath(sys.executable), *LOADERS),
        writes=DEVICES,
        forbidden=sandbox.forbidden,
        connects=(urlsplit(told.authority).port or 0, *sandbox.connects),
        listens=(told.port, told.inner_port),
        # It starts parsers of the rows that clients send.
        processes=True,
        ends_with_parent=True,
    )


def _of_python() -> Iterable[str]:
    """Yield the folders of Python and of the installed packages."""
    yield from (str(Path(sys.prefix, each)) for each in ("lib", "lib64", "pyvenv.cfg"))
    yield str(Path(sys.base_prefix, "lib"))
    yield from (each for each in sys.path if os.path.isabs(each))  # noqa: PTH117 (a string)
