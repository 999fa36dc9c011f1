"""The only way to a path: a connection that the running pipeline declares."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from headgate.control.control import Control
from headgate.control.ports import Store
from headgate.decision.records import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class Place:
    """What is behind a connection."""

    folder: Path


class Places:
    """Says which files a run may read: those in the folders of its declared connections, links resolved.

    A folder is read with all that lies in it, so there must be no link in it.
    """

    def __init__(self, control: Control, store: Store, own: Path) -> None:
        """`own` is the deployment's data folder: tables, tokens and the log are nobody's files, whatever is declared."""
        self._control = control
        self._store = store
        self._own = Path(os.path.realpath(own))

    def may_read(self, caller: Caller, path: str) -> bool:
        """Answer for one path or `file:` URI; anything else than a local file is refused."""
        file = _local(path)
        if file is None or file.is_relative_to(self._own) or self._own.is_relative_to(file):
            return False
        return any(file.is_relative_to(folder) for folder in self._folders(caller)) and not _holds_links(file)

    def place(self, connection: ResourceId) -> Place:
        """Return what is behind a connection."""
        return Place(self.folder(connection))

    def folder(self, connection: ResourceId) -> Path:
        """Return the folder of a connection."""
        document = self._store.document("connection", connection) or {}
        return Path(os.path.realpath(str(document["folder"])))

    def _folders(self, caller: Caller) -> list[Path]:
        facts = self._control.snapshot
        run = facts.runs.get(caller.run) if caller.run else None
        pipeline = facts.resources.get(run.pipeline) if run else None
        if pipeline is None:
            return []
        used = [edge.target for edge in pipeline.edges("connections") if edge.target in facts.resources]
        allowed = [id for id in used if self._control.ask(Question(caller, "connection.use", id)).allowed]
        return [self.folder(id) for id in allowed]


def _holds_links(place: Path) -> bool:
    """Return whether a link lies anywhere in a folder, or may: Spark reads all of it and follows what it finds."""
    if not place.is_dir():
        return False
    try:
        walk = os.walk(place, onerror=_raised)
        return any(Path(above, name).is_symlink() for above, folders, files in walk for name in (*folders, *files))
    except OSError:
        return True


def _raised(error: OSError) -> None:
    raise error


def _local(path: str) -> Path | None:
    parts = urlsplit(path)
    if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
        return None
    # Spark gives URIs percent-encoded and paths as they are; a path with a glob is no file.
    name = unquote(parts.path) if parts.scheme == "file" else path
    if not name.startswith("/") or any(sign in name for sign in "*?[]{}\\\0"):
        return None
    return Path(os.path.realpath(name))
