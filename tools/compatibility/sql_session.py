"""The statements of one SQL input, run one after the other in one session."""

import contextlib
import time
from collections.abc import Callable
from typing import Any, Final

from tools.compatibility.fixture_tables import create_views, drop_leftovers, home_of
from tools.compatibility.jobs import Job
from tools.compatibility.outcomes import Outcome, Result, TimeLimitError, measure, rows_of, time_limit
from tools.compatibility.setting_commands import key_of_setting

_JOB_SECONDS: Final = 420.0
"""After this time the remaining statements of an input are skipped."""
_LOST: Final = ("SESSION_CLOSED", "SESSION_CHANGED", "SESSION_NOT_FOUND", "UNAVAILABLE", "Connection refused")
"""Signs of a session that the server has ended."""


def run_statements(
    connect: Callable[[], Any], job: Job, refused_settings: frozenset[str], kept: frozenset[str], limit: float
) -> list[Result]:
    """Return the results of the settings and statements of an input.

    `refused_settings` are reset after their statement; databases that are not among the `kept` ones are dropped at the end.
    """
    run = _SqlRun(connect, job, refused_settings, kept, limit)
    try:
        for key, value in job.settings:
            run.step(f"SET {key}={value}", "setting")
        for statement in job.statements:
            run.step(statement, "statement")
    finally:
        run.close()
    return run.results


class _SqlRun:
    """A session with the results of its statements. It is opened again if the server has ended it."""

    def __init__(
        self, connect: Callable[[], Any], job: Job, refused_settings: frozenset[str], kept: frozenset[str], limit: float
    ) -> None:
        self._connect, self._job, self._refused, self._kept, self._limit = connect, job, refused_settings, kept, limit
        self._deadline = time.monotonic() + _JOB_SECONDS
        self.results: list[Result] = []
        self._session = self._open()

    def step(self, statement: str, part: str) -> None:
        """Run a statement and record its result."""
        if time.monotonic() > self._deadline:
            self.results.append(Result(statement, part, Outcome("skipped")))
            return
        reset = self._prepare_reset(statement) if statement in self._refused else None
        outcome = measure(lambda: rows_of(self._session.sql(statement)), self._limit)
        self.results.append(Result(statement, part, outcome))
        if reset:
            with contextlib.suppress(Exception):
                reset()
        if outcome.kind == "timeout":
            with contextlib.suppress(Exception, TimeLimitError), time_limit(5):
                self._session.interruptAll()
        elif outcome.kind == "error" and any(sign in f"{outcome.condition} {outcome.message}" for sign in _LOST):
            with contextlib.suppress(Exception):
                self._session = self._open()

    def close(self) -> None:
        """Drop what the input has created, and end the session."""
        with contextlib.suppress(Exception, TimeLimitError), time_limit(60):
            drop_leftovers(self._session, self._job.name, self._kept)
        with contextlib.suppress(Exception, TimeLimitError), time_limit(10):
            self._session.stop()

    def _open(self) -> Any:
        """Open a session with the settings that Spark's suite has for the folder of the input."""
        session, folder = self._connect(), self._job.name.split("/")[0]
        settings = {
            "spark.sql.session.timeZone": "America/Los_Angeles",
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.ansi.enabled": str(folder != "nonansi").lower(),
            **({"spark.sql.timestampType": "TIMESTAMP_NTZ"} if folder == "timestampNTZ" else {}),
        }
        for key, value in settings.items():
            session.conf.set(key, value)
        session.sql(f"USE lake.{home_of(self._job.name)}").collect()
        create_views(session, self._job.name)
        return session

    def _prepare_reset(self, statement: str) -> Callable[[], None] | None:
        """Return a function that restores the setting that the statement is about to change."""
        key = key_of_setting(statement)
        if key is None:
            return None
        before = None
        with contextlib.suppress(Exception):
            before = self._session.conf.get(key, None)

        def reset() -> None:
            self._session.conf.unset(key)
            if before is not None and self._session.conf.get(key, None) != before:
                self._session.conf.set(key, before)

        return reset
