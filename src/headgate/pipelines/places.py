"""The only way to a path: a connection that the running pipeline declares, or a folder of the run's own."""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from headgate.control.connections import CONNECTION, SECRET, Entrance, NoEntranceError
from headgate.control.control import Control
from headgate.control.ports import Store
from headgate.control.vault import Vault, VaultError
from headgate.decision.declared import edges
from headgate.decision.records import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Edge
from headgate.facts.ids import ResourceId, RunId
from headgate.facts.snapshot import Run, Snapshot
from headgate.pipelines.place import DatabasePlace, FolderPlace, HttpPlace, Place, PlaceError, database_of, entrance

CONNECTIONS = "connections"
"""The relation by which a pipeline declares its connections."""


class Places:
    """Says which files a run may touch: those in the folders of its declared connections, and its own, links resolved.

    A folder is read with all that lies in it, so there must be no link in it.
    """

    def __init__(self, control: Control, store: Store, own: Path, vault: Vault) -> None:
        """`own` is the deployment's data folder: tables, tokens and the log are nobody's files, whatever is declared.

        What a run stages and what its pipeline's streams keep of their progress lie in there, and are the exceptions.
        """
        self._control = control
        self._store = store
        self._vault = vault
        self._own = Path(os.path.realpath(own))

    def staging(self, run: RunId) -> Path:
        """Return the folder of a run alone, which goes with it."""
        return self._own / "scratch" / "runs" / run

    def checkpoints(self, pipeline: ResourceId) -> Path:
        """Return the folder in which a pipeline's streams keep their progress from run to run."""
        return self._own / "checkpoints" / pipeline

    def may_touch(self, caller: Caller, action: str, path: str) -> bool:
        """Answer for `path.read`, `path.write` or `path.checkpoint` of a path."""
        may = {"path.read": self.may_read, "path.write": self.may_write, "path.checkpoint": self.may_checkpoint}
        return action in may and may[action](caller, path)

    def may_use(self, caller: Caller, connection: str) -> bool:
        """Answer for a connection by the name that the pipeline of the caller's run declares it by."""
        return self.used(caller, connection) is not None

    def used(self, caller: Caller, connection: str) -> ResourceId | None:
        """Return the connection that the caller's run declares by that name, if its run-as may use it now."""
        return next((edge.target for edge in self._declared(caller) if edge.name == connection), None)

    def may_read(self, caller: Caller, path: str) -> bool:
        """Answer for one path or `file:` URI; anything else than a local file is refused."""
        file = _local(path)
        return file is not None and self._is_open(caller, file) and not _holds_links(file)

    def may_write(self, caller: Caller, path: str) -> bool:
        """Answer for a path that is written, whatever is there replaced: never the whole folder of a connection."""
        file = _local(path) if "%" not in path else None  # Spark does not decode what it writes to
        if file is None or caller.run is None or file in (self.staging(caller.run), *self._folders(caller)):
            return False
        return self._is_open(caller, file) and not _holds_links(file)

    def may_checkpoint(self, caller: Caller, path: str) -> bool:
        """Answer for a path in which a stream of a run keeps its progress: it lies in the folder of its pipeline."""
        file, run = _local(path), self._run(caller)
        if file is None or run is None:
            return False
        return file.is_relative_to(self.checkpoints(run.pipeline)) and not _holds_links(file)

    def place(self, connection: ResourceId) -> Place:
        """Return what is behind a connection. Raises `PlaceError`."""
        document = self._store.document(CONNECTION, connection)
        if document is None:
            raise PlaceError("the connection is gone")
        match document["kind"]:
            case "folder":
                return FolderPlace(Path(os.path.realpath(str(document["folder"]))))
            case "postgresql":
                parts = {key: value for key, value in document.items() if key != "kind"}
                return DatabasePlace(**parts, password=self._secret(connection).get("password", ""))
            case "http":
                return HttpPlace(str(document["base_url"]), self._secret(connection))
            case kind:
                raise PlaceError(f"a connection of the kind `{kind}` is not known here")

    def entrance(self, caller: Caller, connection: str) -> Entrance:
        """Return how a database is entered by the run that declares it so. Raises `NoEntranceError`."""
        found = self.used(caller, connection)
        if found is None:
            raise NoEntranceError("a connection is used by a run of a pipeline that declares it, and in no other way")
        try:
            place = database_of(self.place(found), connection)
        except PlaceError as error:
            raise NoEntranceError(str(error)) from error
        return entrance(place)

    def _secret(self, connection: ResourceId) -> Mapping[str, str]:
        kept = self._store.document(SECRET, connection)
        try:
            return self._vault.open(connection, kept) if kept else {}
        except VaultError as error:
            raise PlaceError(str(error)) from error

    def _run(self, caller: Caller) -> Run | None:
        return self._control.snapshot.runs.get(caller.run) if caller.run else None

    def _is_open(self, caller: Caller, file: Path) -> bool:
        if caller.run is None or self._run(caller) is None:
            return False
        if file.is_relative_to(self.staging(caller.run)):
            return True
        if file.is_relative_to(self._own) or self._own.is_relative_to(file):
            return False
        return any(file.is_relative_to(folder) for folder in self._folders(caller))

    def _folders(self, caller: Caller) -> list[Path]:
        documents = (self._store.document(CONNECTION, edge.target) for edge in self._declared(caller))
        return [Path(os.path.realpath(each["folder"])) for each in documents if each and each["kind"] == "folder"]

    def _declared(self, caller: Caller) -> list[Edge]:
        """Return the connections that the caller's run declares and its run-as may use now."""
        resources, run = self._control.snapshot.resources, self._run(caller)
        pipeline = resources.get(run.pipeline) if run else None
        declared = edges(self._control.snapshot, pipeline, CONNECTIONS) if pipeline else ()
        there = [edge for edge in declared if edge.target in resources]
        return [edge for edge in there if self._control.ask(Question(caller, "connection.use", edge.target)).allowed]


def connection(facts: Snapshot, pipeline: ResourceId, name: str) -> ResourceId | None:
    """Return the connection that a pipeline declares by a name: its own, or that of its source of that name."""
    found = facts.resources[pipeline]
    sources = (facts.resources.get(each.target) for each in found.edges("source") if each.name == name)
    through = (edge for each in sources if each for edge in each.edges(CONNECTIONS))
    own = (edge for edge in found.edges(CONNECTIONS) if edge.name == name)
    return next((edge.target for edge in (*own, *through)), None)


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
