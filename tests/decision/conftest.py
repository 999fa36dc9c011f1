"""Each test of the decision compiles its models itself: mutation testing then runs a changed compilation in every test."""

import pytest

from headgate.decision.engine import compile as compilation


@pytest.fixture(autouse=True)
def no_compiled_models() -> None:
    compilation._compile_once.cache_clear()  # pyright: ignore[reportPrivateUsage] (no public name for the cache)
