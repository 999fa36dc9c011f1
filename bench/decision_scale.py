"""Loads a very large organization from its checkpoint and measures checks: one million tables, ten million assignments.

It takes some minutes and a lot of memory, so only `make soak` runs it. Prints its figures; ends with status 1 if a target is missed.
"""

import gc
import multiprocessing
import resource
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

from decision_engines.asking import Asking
from decision_engines.headgate_engine import HeadgateEngine
from decision_engines.organization import Sizes, generate
from decision_engines.sample import Sample, sample

SIZES = Sizes(users=100_000, groups=10_000, layers=1_000, tables=1_000_000, pipelines=50_000, grants=10_000_000)
NOTHING = Sizes(0, 0, 0, 0, 0, 0)
SECONDS_AT_MOST = 120
GIGABYTES_AT_MOST = 8.0
SECONDS_TO_ASK = 5
ASKED = {
    "newcomer": "check on a table, of a new user",
    "table": "check on a table",
    "pipeline": "check on a pipeline",
}


def write(path: Path) -> Sample:
    """Write the organization's checkpoint and return the questions about it."""
    gc.disable()  # millions of records, and no garbage among them
    organization = generate(SIZES)
    path.write_bytes(HeadgateEngine.prepare(organization))
    return sample(organization, lists=0, revokes=0)


def main() -> int:
    """Measure and print; return the exit status."""
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "checkpoint"
        # Another process writes it, so that its memory does not count.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            cases = pool.submit(write, path).result()
        checkpoint = path.read_bytes()
    print(f"{SIZES.tables:,} tables, {SIZES.users:,} users, {SIZES.grants:,} grants: {len(checkpoint) / 1e6:,.0f} MB")
    asking = Asking(HeadgateEngine(generate(NOTHING)), cases)
    seconds = asking.load(checkpoint).seconds
    for measured, title in ASKED.items():
        taken = asking.measure(measured, SECONDS_TO_ASK)
        print(f"{title:34} median {median(taken) / 1e3:8.1f} µs, of {len(taken)}")
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT / 1e9
    print(f"load                               {seconds:15.1f} s (at most {SECONDS_AT_MOST})")
    print(f"peak memory                        {gigabytes:15.1f} GB (at most {GIGABYTES_AT_MOST:.0f})")
    return int(seconds > SECONDS_AT_MOST or gigabytes > GIGABYTES_AT_MOST)


_UNIT = 1 if sys.platform == "darwin" else 1024
"""The unit of `ru_maxrss` in bytes."""

if __name__ == "__main__":
    sys.exit(main())
