"""How the log is written: lines for people, or one JSON object for each line, to the standard error."""

import json
import logging
import sys
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TextIO

import orjson

from headgate.control.text.terminal_text import terminal_json, terminal_line, terminal_text


def log_to(form: str, level: str, stream: TextIO | None = None) -> None:
    """Write everything that is logged in this process, from `level` on, as `text` or `json`."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else Lines())
    # What no line shows need not be found out for each: the library's own advice, and half of what a line costs.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # noqa: SLF001 (how its documentation says it)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # It says at `info` what it does at every start and every request of a client of its own.
    for chatty in ("httpx", "httpcore", "uvicorn", "alembic"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLogger().level))


class JsonLines(logging.Formatter):
    """One JSON object a line: what every line has first, then the fields of this one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "at": _time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        try:
            return terminal_json(orjson.dumps(line, default=str).decode())
        except TypeError:
            # A text that is not Unicode: the slower way writes even that.
            return json.dumps(line, default=str)


class Lines(logging.Formatter):
    """One line of text; only an error's trace has more."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = " ".join(f"{key}={value}" for key, value in _fields(record).items() if value is not None)
        said = f"{_time(record.created)} {record.levelname:<7} {record.name}: {record.getMessage()} {fields}"
        line = terminal_line(said.rstrip())
        return f"{line}\n{terminal_text(self.formatException(record.exc_info))}" if record.exc_info else line


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    return getattr(record, "fields", {})


def _time(seconds: float) -> str:
    return f"{_second(int(seconds))}.{int(seconds % 1 * 1000):03d}Z"


@lru_cache(2)
def _second(whole: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
