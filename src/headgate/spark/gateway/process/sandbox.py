"""What the sandbox lets the gateway's process do: read Python and its certificate, listen, and reach the server and the drivers."""

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
"""Parsers that it starts read how much memory they have. What other processes hold there, Landlock refuses."""


@dataclass(frozen=True, slots=True)
class GatewaySandbox:
    """How much of the sandbox is enforced, the ports of the drivers, and what it must not be able to open."""

    level: SandboxLevel = SandboxLevel.NONE
    connects: tuple[int, ...] = ()
    forbidden: tuple[str, ...] = ()

    def command(self, command: Sequence[str], told: ProcessConfig) -> Sequence[str]:
        """Return how a command is started in the sandbox."""
        return sandbox_command(command, gateway_policy(self, told), self.level)


def gateway_policy(sandbox: GatewaySandbox, told: ProcessConfig) -> Policy:
    """Return what the gateway may do. A certificate is renewed by another file in its folder."""
    certificates = (str(file.absolute().parent) for file in (told.tls_cert, told.tls_key) if file is not None)
    return Policy(
        reads=(*SYSTEM, _PROCESSES, *certificates, *_of_python()),
        executes=(sys.executable, os.path.realpath(sys.executable), *LOADERS),
        writes=DEVICES,
        forbidden=sandbox.forbidden,
        connects=(urlsplit(told.authority).port or 0, *sandbox.connects),
        listens=(told.port, told.inner_port),
        # Parsers of what clients send.
        processes=True,
        ends_with_parent=True,
    )


def _of_python() -> Iterable[str]:
    """Yield what Python itself and our packages are read from."""
    yield from (str(Path(sys.prefix, each)) for each in ("lib", "lib64", "pyvenv.cfg"))
    yield str(Path(sys.base_prefix, "lib"))
    yield from (each for each in sys.path if os.path.isabs(each))  # noqa: PTH117 (a text)
