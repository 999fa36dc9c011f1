"""Mutated requests against a server as it runs on this machine, in its sandbox."""

from pathlib import Path

import pytest

from headgate.sandbox.machine import find_level
from tests.connect_fuzzer.trial import fuzz, require_no_findings

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("first", [15_000, 20_000])
def test_five_thousand_mutated_requests_to_a_sandboxed_server_reach_nothing(home: Path, first: int) -> None:
    require_no_findings(fuzz(home, range(first, first + 5000), find_level()[0]), 5000)
