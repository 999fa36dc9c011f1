"""Mutated requests against a server without a sandbox, because a sandbox could hide a gap in the lists."""

from pathlib import Path

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tests.connect_fuzzer.trial import fuzz, require_no_findings

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]


def test_mutated_requests_of_a_user_without_rights_cause_no_finding(home: Path, toolchain: Toolchain) -> None:
    assert toolchain.guard_jar.exists()
    require_no_findings(fuzz(home, range(100)), 100)


@pytest.mark.soak
@pytest.mark.parametrize("first", [5000, 10_000])
def test_five_thousand_more_mutated_requests_cause_no_finding(home: Path, first: int) -> None:
    require_no_findings(fuzz(home, range(first, first + 5000)), 5000)
