"""The logs of Spark drivers, which a failing test on Spark prints: the error of a statement often has its cause there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

LINES_SHOWN: Final = 60


def driver_log_tails(folder: Path, since: float) -> Iterator[tuple[str, str]]:
    """Yield title and last lines of each driver log below a folder that was written since a time (seconds since the epoch)."""
    for log in sorted(folder.rglob("driver.log")):
        if log.is_file() and log.stat().st_mtime >= since:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            yield f"driver log {log}, last {LINES_SHOWN} lines", "\n".join(lines[-LINES_SHOWN:])
