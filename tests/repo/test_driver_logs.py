"""A failing test on Spark prints what the driver logged meanwhile."""

import os
from pathlib import Path

from tests.driver_logs import LINES_SHOWN, driver_log_tails


def written(folder: Path, name: str, text: str, at: float) -> None:
    (folder / name).mkdir(parents=True)
    log = folder / name / "driver.log"
    log.write_text(text, encoding="utf-8")
    os.utime(log, (at, at))


def test_the_last_lines_of_each_driver_log_of_the_test_are_shown(tmp_path: Path) -> None:
    written(tmp_path, "a/logs", "".join(f"line {number}\n" for number in range(LINES_SHOWN + 5)), 200.0)
    written(tmp_path, "b/logs", "started\n", 100.0)

    [(title, tail)] = driver_log_tails(tmp_path, 150.0)

    assert "a/logs/driver.log" in title
    assert tail.splitlines()[0] == "line 5"
    assert tail.splitlines()[-1] == f"line {LINES_SHOWN + 4}"
