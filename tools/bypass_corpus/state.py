"""The state that a case can change, captured before and after it: the log, the tables' pointers and the files."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headgate.app.deployment import Deployment

NAMED_PLACES = (Path("/data"), Path("/warehouse"))
"""Folders that the corpus names; they do not belong to the deployment, and must not change."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of the deployment. Every change of the catalog and of privileges is a revision; every commit changes a pointer."""

    revision: int
    pointers: Mapping[str, str]
    """Table's full name -> its metadata file."""
    databases: frozenset[str]
    files: Mapping[str, tuple[int, int]]
    """Path -> size and time of the last change."""


def capture(deployment: Deployment, folders: tuple[Path, ...]) -> State:
    """Return the current state."""
    facts = deployment.home.control.snapshot
    named = {".".join(facts.full_name(id)): (id, each.type) for id, each in facts.resources.items()}
    pointers = {name: deployment.home.store.pointer(id) for name, (id, type) in named.items() if type == "table"}
    return State(
        facts.revision,
        {name: pointer.metadata_location if pointer else "" for name, pointer in pointers.items()},
        frozenset(name for name, (_, type) in named.items() if type == "database"),
        {path: stamp for folder in (*folders, *NAMED_PLACES) for path, stamp in _files(folder)},
    )


def effects(before: State, after: State) -> tuple[str, ...]:
    """Return the differences in words."""
    found: list[str] = []
    if before.revision != after.revision:
        found.append(f"{after.revision - before.revision} changes in the log")
    tables = sorted(_changed(before.pointers, after.pointers))
    files = _changed(before.files, after.files)
    if tables:
        found.append(f"tables {', '.join(tables)}")
    if files:
        found.append(f"{len(files)} files, one of them {min(files)}")
    return tuple(found)


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _files(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    for above, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(above, name)  # noqa: PTH118 (thousands of times, for every case)
            try:
                status = os.stat(path)  # noqa: PTH116 (the same)
            except FileNotFoundError:
                continue
            yield path, (status.st_size, status.st_mtime_ns)
