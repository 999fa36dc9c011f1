"""One embedded stack for every test that tries cases: to start one takes longer than most of them."""

from collections.abc import Iterator

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tools.bypass_corpus.stack import Stack, fresh_stack


@pytest.fixture(scope="session")
def stack(toolchain: Toolchain) -> Iterator[Stack]:  # noqa: ARG001 (whoever has none skips)
    """Return a stack with the fixture on it, held to be sound at the end too."""
    with fresh_stack() as opened:
        yield opened
        opened.require_sound()
