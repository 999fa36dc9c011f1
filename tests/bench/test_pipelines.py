"""The benchmark of pipelines works: a quick run measures what it can without downloads."""

import pytest

from bench.pipelines_stack.compare import main


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_quick_run_measures_runs_and_merges(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--only", "overhead,upsert"]) == 0

    assert "overhead" in capsys.readouterr().out
