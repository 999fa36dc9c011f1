"""The command line: selects the parts and their sizes, measures them, and prints the results."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.guard_stack.effort import QUICK, Effort
from bench.guard_stack.report import Outcome, summary, table
from bench.guard_stack.served import Served, served
from bench.guard_stack.share import share
from bench.guard_stack.statement import end_to_end, large_catalog, large_result
from bench.guard_stack.statements import DATABASE, TABLES
from bench.guard_stack.timing import WrongAnswerError
from bench.guard_stack.tpch import generator, tpch
from bench.guard_stack.upload import large_upload
from bench.http_engines.figures import Aim
from bench.options import chosen
from headgate.app.settings.settings import default_settings
from headgate.spark.toolchain.prepare import Toolchain, prepare

SHARE = "share"
TPCH = "tpch"
ON_SERVER = ("end", "arrow", "upload", TPCH, "catalog")
"""The parts that are measured on a server; the part that fills the catalog is last."""
PARTS = (SHARE, *ON_SERVER)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    only, effort = chosen("bench/guard", __doc__, PARTS, Effort(), QUICK, arguments)
    try:
        aims = [aim for part in _measured(only, effort) for aim in part]
    except WrongAnswerError as error:
        print(f"guard: wrong answer: {error}", file=sys.stderr)
        return 1
    print(summary(aims))
    return 0


def _measured(only: Sequence[str], effort: Effort) -> Iterator[Sequence[Aim]]:
    """Measure the chosen parts, print each one's table, and yield its aims."""
    settings = default_settings({})
    tools = prepare(settings.cache, settings.jars_folder, print)
    if SHARE in only:
        with _room() as folder:
            yield _told("parse, analyze, optimize, plan", share(tools, folder, effort))
    if TPCH in only and generator() is None:
        print("tpch: skipped, because `tpchgen-cli` is not installed (`make bench` installs it)")
        only = [name for name in only if name != TPCH]
    if wanted := [name for name in ON_SERVER if name in only]:
        yield from _on_server(tools, wanted, effort)


def _on_server(tools: Toolchain, wanted: Sequence[str], effort: Effort) -> Iterator[Sequence[Aim]]:
    with _room() as folder, served(tools, folder) as sides:
        _make_tables(sides)
        measures: dict[str, Callable[[Served, Effort], Outcome]] = {
            "end": end_to_end,
            "arrow": large_result,
            "upload": large_upload,
            TPCH: partial(tpch, folder),
            "catalog": large_catalog,
        }
        for name in wanted:
            yield _told(name, measures[name](sides, effort))


def _make_tables(sides: Served) -> None:
    with sides.api() as client:
        client.post("/api/v1/databases", json={"name": DATABASE}).raise_for_status()
    for name, query in TABLES.items():
        sides.guarded.sql(f"CREATE TABLE lake.{DATABASE}.{name} AS {query}")


def _told(title: str, outcome: Outcome) -> Sequence[Aim]:
    print(f"{table(title, outcome)}\n", flush=True)
    return outcome.aims


@contextmanager
def _room() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="headgate-guard-") as name:
        yield Path(name).resolve()
