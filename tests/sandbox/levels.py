"""What tests of the sandbox ask of the machine. Under `CI` a machine without the full sandbox fails them."""

from typing import Final

import pytest

from headgate.sandbox import SandboxLevel
from headgate.sandbox.launch import find_level
from tests.conftest import IN_CI

_NOT_ALL: Final = "sandbox of Spark's processes:"
"""Begins the line of what is not enforced."""


def is_full() -> bool:
    """Return whether the machine enforces the full sandbox. Fails under `CI` where it does not."""
    level, why = find_level()
    assert level is SandboxLevel.FULL or not IN_CI, f"this machine enforces no full sandbox: {why}"
    return level is SandboxLevel.FULL


def require_full() -> None:
    """Skip the test where the machine does not enforce the full sandbox; under `CI`, fail it."""
    if not is_full():
        pytest.skip(f"this machine enforces no full sandbox: {find_level()[1]}")


def require_said(output: str) -> None:
    """Fail unless what a server printed says of the sandbox what the machine enforces; under `CI`, unless that is all of it."""
    assert (_NOT_ALL in output) is not is_full(), output
