"""The command line: which parts are measured, how much of each, and what is printed."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from bench.guard_stack.report import summary, table
from bench.guard_stack.served import served
from bench.guard_stack.timing import WrongAnswerError
from bench.http_engines.figures import Aim
from bench.pipelines_stack.effort import QUICK, Effort
from bench.pipelines_stack.parts import PARTS
from bench.pipelines_stack.runs import Runs
from headgate.app.settings import default_settings
from headgate.spark.toolchain import prepare


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    chosen = _chosen(arguments)
    sizes = QUICK if chosen.quick else Effort()
    given = {each.name: getattr(chosen, each.name) for each in fields(Effort)}
    effort = Effort(**{name: getattr(sizes, name) if value is None else value for name, value in given.items()})
    try:
        print(summary(_measured(chosen.only.split(","), effort)))
    except WrongAnswerError as error:
        print(f"pipelines: {error}", file=sys.stderr)
        return 1
    return 0


def _chosen(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/pipelines", description=__doc__)
    every = ",".join(PARTS)
    parser.add_argument("--only", default=every, help=f"parts with commas between; default: {every}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it work?")
    for each in fields(Effort):
        parser.add_argument(f"--{each.name}", type=type(each.default), help=f"default: {each.default:,}")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.only.split(",") if name not in PARTS]:
        parser.error(f"no part `{unknown[0]}`; there are {every}")
    return chosen


def _measured(only: Sequence[str], effort: Effort) -> list[Aim]:
    """Measure the chosen parts on one server, print each one's table, and return its aims."""
    settings, aims = default_settings({}), list[Aim]()
    tools = prepare(settings.cache, settings.jars_folder, print)
    with tempfile.TemporaryDirectory(prefix="headgate-pipelines-") as name:
        folder = Path(name).resolve()
        with served(tools, folder) as sides:
            files = folder / "files"
            runs = Runs(sides, files)
            for part in only:
                try:
                    outcome = PARTS[part](sides, runs, files, effort)
                except LookupError as error:
                    print(f"{part}: left out: {error}")
                    continue
                print(f"{table(part, outcome)}\n", flush=True)
                aims.extend(outcome.aims)
            runs.close()
    return aims
