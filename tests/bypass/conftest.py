"""One embedded stack for every test that runs cases, because starting a stack takes longer than most of the tests."""

from collections.abc import Iterator

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tools.bypass_corpus.stack import Stack, fresh_stack


@pytest.fixture(scope="session")
def stack(toolchain: Toolchain) -> Iterator[Stack]:  # noqa: ARG001 (without a toolchain the tests are skipped)
    """Return a stack with the fixture on it, and check at the end of the tests that the fixture is intact."""
    with fresh_stack() as opened:
        yield opened
        opened.require_sound()
