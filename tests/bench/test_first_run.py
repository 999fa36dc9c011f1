"""The measurement of a first run works: a quick run measures one start and the demo."""

import re

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tests.bench.quick import run_quick


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_quick_run_measures_a_start_and_the_demo(toolchain: Toolchain) -> None:
    assert toolchain.guard_jar.exists()

    printed = run_quick("first_run")

    medians = {title: float(time) for title, time in re.findall(r"^(.+?) +median +([\d.]+) s ", printed, re.MULTILINE)}
    assert [*medians] == ["API answers", "Spark ready", "headgate demo --once"]
    assert 0 < medians["API answers"] < medians["Spark ready"]
