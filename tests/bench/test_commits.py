"""The measurement of commits works: a quick run commits to a table, which has the last snapshot then."""

import re

from tests.bench.quick import run_quick


def test_a_quick_run_measures_the_first_commit_appends_and_an_overwrite() -> None:
    printed = run_quick("commits.py")

    assert re.search(r"^first commit of 3 manifests \d+$", printed, re.MULTILINE)
    assert re.search(r"^append of one manifest: median [\d.]+, longest [\d.]+$", printed, re.MULTILINE)
    assert re.search(r"^overwrite of 5 manifests \d+$", printed, re.MULTILINE)
