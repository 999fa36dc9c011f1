"""What the gateway's process is told when it begins, and what it answers: one line of JSON each."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

LogLevel = Literal["debug", "info", "warning", "error"]

DRAIN: Final = b"drain\n"
"""What the parent says last if calls under way are to finish."""


@dataclass(frozen=True, slots=True)
class ProcessConfig:
    """Where to listen, whom to ask, and how to log. Ports are 0 for a free one.

    Beside the port for everybody there is one on loopback without TLS, for the server's own statements.
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
    """It answers, on these ports; or it cannot, and why."""

    port: int = 0
    inner_port: int = 0
    error: str = ""
