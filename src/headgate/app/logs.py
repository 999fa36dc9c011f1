"""The format of the log: lines of text for people, or one JSON object for each line, to the standard error."""

import json
import logging
import sys
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TextIO

import orjson
from typing_extensions import override

from headgate.control.text.terminal_text import terminal_json, terminal_line, terminal_text


def log_to(form: str, level: str, stream: TextIO | None = None) -> None:
    """Write all log records of this process from `level` on, in the form `text` or `json`."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else Lines())
    # No line shows these fields; without them a line takes half the time (advice of the documentation of `logging`).
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # noqa: SLF001 (as the documentation of `logging` advises)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # At `info` these libraries log every start, and every request of their clients.
    for chatty in ("httpx", "httpcore", "uvicorn", "alembic"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLogger().level))


class JsonLines(logging.Formatter):
    """One JSON object for each line: the common fields first, then those of the record."""

    @override
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
            # A text with lone surrogates, which orjson refuses; the slower `json` writes it.
            return json.dumps(line, default=str)


class Lines(logging.Formatter):
    """One line of text for each record; only the traceback of an error has more lines."""

    @override
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
