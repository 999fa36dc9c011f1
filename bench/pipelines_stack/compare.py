"""The command line: selects the parts and their sizes, measures them, and prints the results."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.guard_stack.report import summary, table
from bench.guard_stack.served import served
from bench.guard_stack.timing import WrongAnswerError
from bench.http_engines.figures import Aim
from bench.options import chosen
from bench.pipelines_stack.effort import QUICK, Effort
from bench.pipelines_stack.parts import PARTS
from bench.pipelines_stack.runs import Runs
from headgate.app.settings.settings import default_settings
from headgate.spark.toolchain.prepare import prepare


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    only, effort = chosen("bench/pipelines", __doc__, tuple(PARTS), Effort(), QUICK, arguments)
    try:
        print(summary(_measured(only, effort)))
    except WrongAnswerError as error:
        print(f"pipelines: {error}", file=sys.stderr)
        return 1
    return 0


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
                    print(f"{part}: skipped: {error}")
                    continue
                print(f"{table(part, outcome)}\n", flush=True)
                aims.extend(outcome.aims)
            runs.close()
    return aims
