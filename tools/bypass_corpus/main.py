"""The command line of `tools/bypass`."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from headgate.app.http.server import ServerError
from headgate.control.kernel.ports import StoreError
from headgate.spark.driver.driver import DriverError
from headgate.spark.toolchain.errors import ToolchainError
from tools.bypass_corpus.cases import CorpusError, load
from tools.bypass_corpus.report import closing, progress
from tools.bypass_corpus.run import run
from tools.bypass_corpus.stack import StackError, fresh_stack
from tools.bypass_corpus.verdicts import falls_short

_CANNOT_RUN = 2


def main(arguments: Sequence[str]) -> int:
    """Return 0 if the guard holds, 1 if something was let through or too much refused, 2 if it could not be tried."""
    parser = argparse.ArgumentParser(prog="tools/bypass", description="Try to get around the guard.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a corpus: one case per line")
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="try this case; can be repeated")
    parser.add_argument("--verbose", action="store_true", help="say what came of each attempt")
    given = parser.parse_args(arguments)
    try:
        return _run(given.files, given.only, verbose=given.verbose)
    except (CorpusError, StackError, ServerError, StoreError, DriverError, ToolchainError, OSError) as error:
        print(f"bypass: {error}", file=sys.stderr)
        return _CANNOT_RUN


def _run(files: Sequence[Path], only: Sequence[str], *, verbose: bool) -> int:
    cases = load(files, only)
    began = time.monotonic()
    with fresh_stack() as stack:
        for what in stack.missing:
            print(f"not in the fixture: {what} (it cannot be made yet)")
        print(f"{len(cases)} cases; the stack was ready after {time.monotonic() - began:.0f} s", flush=True)
        judged = run(stack, cases, progress(len(cases), verbose=verbose))
        stack.require_sound()
    lines = closing(judged)
    print("\n".join((*lines[:-1], f"{time.monotonic() - began:.0f} s in all", lines[-1])))
    return 1 if falls_short(judged) else 0
