"""Every measurement in `bench/` is run by a test, with tiny sizes."""

from pathlib import Path

import pytest

MEASUREMENTS = [
    file
    for file in sorted(Path("bench").iterdir())
    if file.is_file() and 'if __name__ == "__main__"' in file.read_text()
]


@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda file: file.name)
def test_every_measurement_has_a_test_that_runs_it_with_tiny_sizes(measurement: Path) -> None:
    test = Path("tests/bench") / f"test_{measurement.stem}.py"

    assert any(call in test.read_text() for call in (f'run_quick("{measurement.name}")', 'main(["--quick"'))
