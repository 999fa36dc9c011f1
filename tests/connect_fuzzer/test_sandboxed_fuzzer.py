"""Mutated requests against a server in its full sandbox; a machine that enforces less proves nothing here."""

from pathlib import Path

import pytest

from headgate.sandbox import SandboxLevel
from tests.connect_fuzzer.trial import fuzz, require_no_findings
from tests.sandbox.levels import require_full

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("first", [15_000, 20_000])
def test_five_thousand_mutated_requests_to_a_sandboxed_server_cause_no_finding(home: Path, first: int) -> None:
    require_full()
    require_no_findings(fuzz(home, range(first, first + 5000), SandboxLevel.FULL), 5000)
