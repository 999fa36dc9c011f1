"""The benchmark of Headgate uses the same organization as the benchmarks of the other engines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.decision_engines.asking import Asking
from bench.decision_engines.headgate_engine import HeadgateEngine
from bench.decision_engines.organization import Sizes, generate
from bench.decision_engines.report import MEASURED
from bench.decision_engines.sample import sample

CHECKS = 10


class TestHeadgate:
    @pytest.mark.timeout(300)
    @settings(max_examples=5, deadline=None)
    @given(
        st.builds(
            Sizes,
            users=st.integers(2, 12),
            groups=st.integers(1, 4),
            layers=st.integers(5, 12),
            tables=st.integers(100, 120),
            pipelines=st.integers(1, 30),
            grants=st.integers(20, 80),
        )
    )
    def test_the_engine_gives_the_answers_of_the_oracle(self, sizes: Sizes) -> None:
        made = generate(sizes)
        asking = Asking(HeadgateEngine(made), sample(made, CHECKS))

        asking.load(HeadgateEngine.prepare(made))

        for measured in MEASURED:
            asking.compare(measured, 1)
            asking.measure(measured, 0.01)
