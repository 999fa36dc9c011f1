"""The configuration of the gateway's process at its start, and its reply: one line of JSON each."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

LogLevel = Literal["debug", "info", "warning", "error"]

DRAIN: Final = b"drain\n"
"""The parent's last message if running calls may finish."""


@dataclass(frozen=True, slots=True)
class ProcessConfig:
    """The addresses to listen on, the authority to ask, and the log format. Port 0 selects a free port.

    Beside the public port there is an inner port on loopback without TLS, for the server's own statements.
    """

    host: str
    port: int
    inner_port: int
    authority: str
    key: str = field(repr=False)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    drain_seconds: float = 10.0
    log: Literal["text", "json"] = "text"
    log_level: LogLevel = "info"


@dataclass(frozen=True, slots=True)
class ProcessReady:
    """The reply of the process: it serves on these ports, or `error` says why it cannot."""

    port: int = 0
    inner_port: int = 0
    error: str = ""
