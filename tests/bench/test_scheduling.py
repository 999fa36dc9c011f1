"""The measurement of scheduling works: a quick run queues the runs that are due, and no others."""

from tests.bench.quick import run_quick


def test_a_quick_run_queues_a_run_of_each_pipeline_in_five_minutes() -> None:
    hourly, often = run_quick("scheduling").splitlines()

    assert hourly.startswith("20 pipelines, each once an hour: ")
    assert ", 5 runs queued in 5 minutes " in hourly
    assert often.startswith("20 pipelines, each every 5 minutes: ")
    assert ", 20 runs queued in 5 minutes " in often
