"""What somebody sees of a run while it lasts."""

from collections.abc import Iterator
from typing import Any

import pytest

from headgate.cli.run_progress import follow


class Going:
    """A run that has got further each time that one looks: its state, and how many lines it has said."""

    def __init__(self, *looks: tuple[str, int], progress: dict[str, int] | None = None) -> None:
        self._looks: Iterator[tuple[str, int]] = iter(looks)
        self._said = 0
        self._progress = progress or {}

    def get(self, path: str, after: int = 0) -> dict[str, Any]:
        if path.endswith("/log"):
            items = [{"number": n, "line": f"line {n}"} for n in range(after + 1, min(self._said, after + 1000) + 1)]
            return {"items": items, "next": after + len(items)}
        state, self._said = next(self._looks)
        return {"name": "load", "state": state, "why": "", "progress": self._progress}


class TestFollow:
    def test_following_a_run_prints_each_line_once_and_ends_with_the_run(self) -> None:
        going, shown = Going(("queued", 0), ("running", 1), ("running", 2), ("failed", 3)), list[str]()

        last = follow(going.get, "r", shown.append)

        assert shown == ["  line 1", "  line 2", "  line 3"]
        assert last["state"] == "failed"

    def test_following_a_run_prints_a_log_of_any_length(self) -> None:
        shown = list[str]()

        follow(Going(("running", 1500), ("succeeded", 3200)).get, "r", shown.append)

        assert len(shown) == len(set(shown)) == 3200

    @pytest.mark.parametrize("progress", [{}, {"tasks": 8, "tasks_done": 1}, {"tasks": 8, "bytes": 10_000_000}])
    def test_following_a_run_accepts_progress_before_the_first_line(self, progress: dict[str, int]) -> None:
        last = follow(Going(("running", 0), ("succeeded", 0), progress=progress).get, "r")

        assert last["state"] == "succeeded"
