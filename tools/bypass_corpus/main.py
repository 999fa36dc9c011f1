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
    """Return 0 if the guard is correct, 1 if a case was let through or too many over-refused, 2 if no case could be attempted."""
    parser = argparse.ArgumentParser(
        prog="tools/bypass",
        description="Attempt the bypasses of a corpus on the guard, and print which were let through.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a corpus, with one case per line")
    parser.add_argument(
        "--only", action="append", default=[], metavar="ID", help="attempt only this case; can be repeated"
    )
    parser.add_argument("--verbose", action="store_true", help="print the result of each attempt")
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
            print(f"not in the fixture: {what} (it could not be created)")
        print(f"{len(cases)} cases; the deployment was ready after {time.monotonic() - began:.0f} s", flush=True)
        judged = run(stack, cases, progress(len(cases), verbose=verbose))
        stack.require_sound()
    lines = closing(judged)
    print("\n".join((*lines[:-1], f"{time.monotonic() - began:.0f} s in all", lines[-1])))
    return 1 if falls_short(judged) else 0
