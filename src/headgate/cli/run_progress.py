"""Shows a run until it has ended: its log, and the progress of Spark."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.filesize import decimal

from headgate.cli.output import build_progress, console, say

UNDER_WAY = ("queued", "running")

_PAUSE = 0.2
"""Seconds between two requests for the state of a run."""

Get = Callable[..., dict[str, Any]]
"""Returns the JSON of a path of the API; keyword arguments are the query."""


def follow(get: Get, run: str, show: Callable[[str], None] = say) -> dict[str, Any]:
    """Show the lines of a run's log until the run has ended; return the ended run."""
    after = 0
    with console.status("the run is queued") as status:
        while True:
            found = get(f"/runs/{run}")
            after = show_new_lines(get, run, after, show)
            if found["state"] not in UNDER_WAY:
                return found
            status.update(build_progress(_standing(found)))
            time.sleep(_PAUSE)


def show_new_lines(get: Get, run: str, after: int, show: Callable[[str], None] = say) -> int:
    """Show the lines of a run's log after line `after`; return the number of the last line."""
    while lines := (part := get(f"/runs/{run}/log", after=after))["items"]:
        for each in lines:
            show(f"  {each['line']}")
        after = part["next"]
    return after


def _standing(found: Mapping[str, Any]) -> str:
    """Return the state and progress of a run as a short text."""
    if found["state"] == "queued":
        return f"{found['name']} waits{': ' + found['why'] if found['why'] else ' in the queue'}"
    done = found["progress"]
    if not done.get("tasks"):
        return f"{found['name']} is running"
    read = f", {decimal(int(done['bytes']))} read" if done.get("bytes") else ""
    return f"{found['name']}: {done.get('tasks_done', 0):.0f} of {done['tasks']:.0f} tasks{read}"
