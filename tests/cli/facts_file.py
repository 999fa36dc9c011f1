"""The small world of `tests/fakes/small_organization.py` as a facts file of four entries."""

from collections.abc import Sequence
from pathlib import Path

from headgate.control.kernel.ports import LogEntry
from headgate.facts.changes import Change, RunAsSet
from headgate.facts.encoding import write_history
from tests.fakes.small_organization import CREW, DELAYS, FLIGHTS, MEMBER, OTHER, PEOPLE, RAW, THINGS, assigned

GRANTS: tuple[Change, ...] = (
    assigned(MEMBER, "viewer", RAW),
    assigned(CREW, "editor", FLIGHTS),
    assigned(OTHER, "editor", RAW),
)
ENTRIES = (
    LogEntry(1, 1_000.0, None, "organization.create", PEOPLE),
    LogEntry(2, 2_000.0, None, "resources", THINGS),
    LogEntry(3, 3_000.0, None, "assignments", GRANTS),
    LogEntry(4, 4_000.0, None, "run-as", (RunAsSet(DELAYS, OTHER),)),
)


def written(folder: Path, *more: Change, entries: Sequence[LogEntry] = ENTRIES) -> Path:
    """Write the facts file into the folder, with a last entry of these changes if there are any."""
    last = len(entries) + bool(more)
    added = (LogEntry(last, 5_000.0, None, "more", more),) if more else ()
    file = folder / "facts.jsonl"
    file.write_text("\n".join(write_history((*entries, *added), last)) + "\n")
    return file
