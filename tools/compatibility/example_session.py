"""The examples of documents, run one after the other in one session, as PySpark's tests of Spark Connect run them."""

import contextlib
import doctest
import importlib
import io
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import Window, functions, types

from tools.compatibility.doc_examples import CASES_SUFFIX, documents_of
from tools.compatibility.fixture_tables import HOME, drop_leftovers
from tools.compatibility.jobs import Job
from tools.compatibility.outcomes import Outcome, Result, TimeLimitError, measure, text_of, time_limit

_FLAGS: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_LEFT_OUT: Final = re.compile(
    r"spark\.stop\(\)|SparkSession\.builder|session\.stop\(\)|spark\.newSession\(\)\.stop|addArtifact"
)
"""Examples that open or end other sessions, or upload files of this machine."""
_JOB_SECONDS: Final = 420.0
"""After this time the remaining examples of a job are skipped."""


def run_examples(connect: Callable[[], Any], job: Job, kept: frozenset[str], limit: float) -> list[Result]:
    """Return the results of the examples of a job's documents; databases that are not among the `kept` ones are dropped at the end."""
    documents = documents_of(job.source)
    module = {} if job.source.endswith(CASES_SUFFIX) else vars(importlib.import_module(job.source))
    run = _ExampleRun(connect, kept, limit)
    try:
        for name in job.documents:
            run.run_document(documents[name], module)
    finally:
        run.close()
    return run.results


def names_for(module: Mapping[str, Any], session: Any) -> dict[str, Any]:
    """Return the names of an example: those of its module and, for our own cases, `F`, `T`, `Window` and `sql`.

    `sql` returns the sorted rows of a statement.
    """
    own = {"sql": lambda statement: sorted(map(repr, names["spark"].sql(statement).collect()))}
    names = {"F": functions, "T": types, "Window": Window, **own, **module, "spark": session, "sc": None}
    return names


class _ExampleRun:
    """A session with the results of its examples. It is opened again if the server has ended it."""

    def __init__(self, connect: Callable[[], Any], kept: frozenset[str], limit: float) -> None:
        self._connect, self._kept, self._limit = connect, kept, limit
        self._deadline = time.monotonic() + _JOB_SECONDS
        self._checker = doctest.OutputChecker()
        self.results: list[Result] = []
        self._session = self._open()

    def run_document(self, document: doctest.DocTest, module: Mapping[str, Any]) -> None:
        """Run the examples of a document; they share their variables."""
        self._use_home()
        names = names_for(module, self._session)
        for example in document.examples:
            outcome = self._run(example, document.name, names)
            self.results.append(Result(example.source.strip(), "example", outcome, document.name))
            if outcome.kind == "timeout":
                with contextlib.suppress(Exception, TimeLimitError), time_limit(5):
                    self._session.interruptAll()
            if outcome.kind == "error" and "SESSION" in outcome.message[:300]:
                self._session = self._open()
                names["spark"] = self._session
        self._stop_streams()

    def close(self) -> None:
        """Drop what the examples have created, and end the session."""
        with contextlib.suppress(Exception, TimeLimitError), time_limit(60):
            drop_leftovers(self._session, HOME, self._kept)
        with contextlib.suppress(Exception, TimeLimitError), time_limit(10):
            self._session.stop()

    def _run(self, example: doctest.Example, name: str, names: dict[str, Any]) -> Outcome:
        is_left_out = example.options.get(doctest.SKIP) or _LEFT_OUT.search(example.source)
        if is_left_out or time.monotonic() > self._deadline:
            return Outcome("skipped")

        def run() -> Outcome:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(example.source, name, "single", 0, dont_inherit=True), names)  # noqa: S102 (examples are code)
            text = printed.getvalue()
            fits = bool(example.want) and self._checker.check_output(example.want, text, _FLAGS)
            return text_of(text, as_documented=fits)

        return measure(run, self._limit)

    def _open(self) -> Any:
        session = self._connect()
        self._session = session
        self._use_home()
        return session

    def _use_home(self) -> None:
        with contextlib.suppress(Exception):
            self._session.sql(f"USE lake.{HOME}").collect()

    def _stop_streams(self) -> None:
        with contextlib.suppress(Exception, TimeLimitError), time_limit(10):
            for query in self._session.streams.active:
                query.stop()
