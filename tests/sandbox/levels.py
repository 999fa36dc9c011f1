"""The sandbox level that tests require. Under `CI` a machine without the full sandbox fails the tests."""

from typing import Final

import pytest

from headgate.sandbox import SandboxLevel
from headgate.sandbox.launch import find_level
from tests.conftest import IN_CI

_NOT_ALL: Final = "sandbox of Spark's processes:"
"""The beginning of the line that lists the parts that are not enforced."""


def is_full() -> bool:
    """Return whether the machine enforces the full sandbox. Under `CI`, fail if it does not."""
    level, why = find_level()
    assert level is SandboxLevel.FULL or not IN_CI, f"this machine does not enforce the full sandbox: {why}"
    return level is SandboxLevel.FULL


def require_full() -> None:
    """Skip the test if the machine does not enforce the full sandbox; under `CI`, fail it."""
    if not is_full():
        pytest.skip(f"this machine does not enforce the full sandbox: {find_level()[1]}")


def require_said(output: str) -> None:
    """Fail unless a server printed the sandbox level of this machine; under `CI`, fail unless it is the full level."""
    assert (_NOT_ALL in output) is not is_full(), output
