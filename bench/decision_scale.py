"""Loads a very large organization from its checkpoint and measures checks, explanations and what-if.

The organization has one million tables and ten million assignments. That takes some minutes and a lot of memory, so only
`make soak` runs it. Some answers are compared with an oracle. Prints its figures; ends with status 1 if a target is missed.
Options: `--quick` is a short test run, and each size has an option. See docs/benchmarks.md.
"""

import gc
import multiprocessing
import resource
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.decision_engines.analysis import AnalyzingEngine, analysis_sample
from bench.decision_engines.asking import Asking
from bench.decision_engines.organization import SMALL, Sizes, generate
from bench.decision_engines.sample import Sample, sample
from bench.options import chosen_sizes

SIZES = Sizes(users=100_000, groups=10_000, layers=1_000, tables=1_000_000, pipelines=50_000, grants=10_000_000)
NOTHING = Sizes(0, 0, 0, 0, 0, 0)
SECONDS_AT_MOST = 120
GIGABYTES_AT_MOST = 8.0
ANALYSIS_SECONDS_AT_MOST = 1.0
SECONDS_TO_ASK, QUICK_SECONDS_TO_ASK = 5, 0.05
CHECKED = {
    "newcomer": "check on a table, of a new user",
    "table": "check on a table",
    "pipeline": "check on a pipeline",
}
ANALYZED = {
    "explain_allow": "explain an allowed check",
    "explain_deny": "explain a denied check, with fixes",
    "revoke_impact": "what-if: revoke a grant on a table",
    "leave_impact": "what-if: a user leaves a group",
}


def write(path: Path, sizes: Sizes) -> Sample:
    """Write the organization's checkpoint and return the questions about it."""
    gc.disable()  # millions of records, and no garbage among them
    organization = generate(sizes)
    path.write_bytes(AnalyzingEngine.prepare(organization))
    checks = sample(organization, lists=0, revokes=0)
    return {**checks, **analysis_sample(organization, checks)}


def main() -> int:
    """Measure and print; return the exit status."""
    sizes, quick = chosen_sizes("bench/decision_scale.py", __doc__, SIZES, SMALL)
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "checkpoint"
        # Another process writes it, so that its memory does not count.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            cases = pool.submit(write, path, sizes).result()
        checkpoint = path.read_bytes()
    print(f"{sizes.tables:,} tables, {sizes.users:,} users, {sizes.grants:,} grants: {len(checkpoint) / 1e6:,.0f} MB")
    asking = Asking(AnalyzingEngine(generate(NOTHING)), cases)
    seconds = asking.load(checkpoint).seconds
    slow = ask(asking, QUICK_SECONDS_TO_ASK if quick else SECONDS_TO_ASK)
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT / 1e9
    print(f"load                               {seconds:15.1f} s (at most {SECONDS_AT_MOST})")
    print(f"peak memory                        {gigabytes:15.1f} GB (at most {GIGABYTES_AT_MOST:.0f})")
    missed = slow or seconds > SECONDS_AT_MOST or gigabytes > GIGABYTES_AT_MOST
    return int(missed and not quick)


def ask(asking: Asking, seconds: float) -> bool:
    """Print the figures of all questions, each asked for these seconds; return whether an analysis misses its target."""
    for measured, title in CHECKED.items():
        taken = asking.measure(measured, seconds)
        print(f"{title:34} median {median(taken) / 1e3:8.1f} µs, of {len(taken)}", flush=True)
    slow = False
    for measured, title in ANALYZED.items():
        taken = [each / 1e9 for each in asking.measure(measured, seconds)]
        slow |= median(taken) > ANALYSIS_SECONDS_AT_MOST
        print(
            f"{title:34} median {median(taken):8.3f} s, longest {max(taken):.3f}, of {len(taken)} "
            f"(at most {ANALYSIS_SECONDS_AT_MOST:g} s)",
            flush=True,
        )
    return slow


_UNIT = 1 if sys.platform == "darwin" else 1024
"""The unit of `ru_maxrss` in bytes."""

if __name__ == "__main__":
    sys.exit(main())
