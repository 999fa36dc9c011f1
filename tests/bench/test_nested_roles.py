"""The measurement of nested roles works: a quick run measures both users."""

import re

from tests.bench.quick import run_quick


def test_a_quick_run_measures_both_users() -> None:
    printed = run_quick("nested_roles")

    assert "200 roles, nested 8 deep" in printed
    assert len(re.findall(r"first check [\d.]+ ms", printed)) == 2
    assert len(re.findall(r"  check +median +[\d.]+ µs", printed)) == 2
    assert len(re.findall(r"revoke and fresh check median +[\d.]+ ms", printed)) == 2
