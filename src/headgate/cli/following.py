"""A run on the screen: its log, and how far Spark is, while it lasts."""

import time
from collections.abc import Callable
from typing import Any

from headgate.cli.output import console, say

_PAUSE = 0.1
"""Seconds between two looks at a run."""


def follow(look: Callable[[], dict[str, Any]], show: Callable[[str], None] = say) -> dict[str, Any]:
    """Show the lines of a run's document, as `look` gets it, until the run has ended; returns the last document."""
    shown = 0
    with console.status("waiting for Spark") as status:
        while True:
            document = look()
            lines = [entry["line"] for entry in document["log"]]
            for line in lines[shown:]:
                show(f"  {line}")
            shown = len(lines)
            if progress := document.get("progress"):
                under_way = lines[-1] if lines else document["name"]
                status.update(f"{under_way}: {progress['done']} of {progress['tasks']} tasks")
            if document["state"] != "running":
                return document
            time.sleep(_PAUSE)
