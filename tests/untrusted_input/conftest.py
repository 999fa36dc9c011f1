"""A pool of parsers for tests that block."""

from collections.abc import Iterator

import pytest

from headgate.untrusted_input.limits import ParserLimits
from tests.untrusted_input.parsers import Parsers, parsers


@pytest.fixture(scope="module")
def pool() -> Iterator[Parsers]:
    with parsers(ParserLimits(wall_seconds=60.0)) as running:
        yield running
