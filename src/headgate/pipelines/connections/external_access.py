"""External access of runs: only connections that their pipeline declares; Spark opens only paths in the run's own folders."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit

from headgate.control.connections.commands import CONNECTION, SECRET, JdbcAccess, JdbcAccessError
from headgate.control.connections.vault import Vault, VaultError
from headgate.control.control import Control
from headgate.control.egress import Address
from headgate.control.egress.policy import EGRESS_SETTING
from headgate.control.kernel.ports import Store
from headgate.decision.run_scope import pipeline_edges
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Edge
from headgate.facts.ids import ResourceId, RunId, is_folder_name
from headgate.facts.snapshot import Run, Snapshot
from headgate.pipelines.connections.egress import Egress, EgressError, host_and_port
from headgate.pipelines.connections.jdbc_access import jdbc_access
from headgate.pipelines.connections.targets import DatabasePlace, FolderPlace, HttpPlace, Place, PlaceError, database_of

log: Final = logging.getLogger(__name__)

Allowed = TypeVar("Allowed")

CONNECTIONS = "connections"
"""The relation in which a pipeline declares its connections."""


class ExternalAccessPolicy:
    """Decides what runs of an organization's pipelines may reach outside the lake.

    A connection may be used if the pipeline declares it, its run-as principal may use it and the operator allows its target.
    Spark itself opens no path in a connection's folder: files are copied to and from it by open descriptors.
    """

    def __init__(
        self, organization: ResourceId, control: Control, store: Store, own: Path, vault: Vault, egress: Egress
    ) -> None:
        """`own` is the deployment's data folder, which has the organization's folders for runs and streams."""
        self._organization = organization
        self._control = control
        self._store = store
        self._vault = vault
        self._egress = egress
        self._own = Path(os.path.realpath(own))

    def staging(self, run: RunId) -> Path:
        """Return the folder of one run, which is deleted with the run."""
        return self._own / "scratch" / self._organization / "runs" / _folder_name(run)

    def checkpoints(self, pipeline: ResourceId) -> Path:
        """Return the folder in which a pipeline's streams store their progress between runs."""
        return self._own / "checkpoints" / self._organization / _folder_name(pipeline)

    def incoming(self, pipeline: ResourceId) -> Path:
        """Return the folder with copies of new files, from which a pipeline's streams read."""
        return self._own / "scratch" / self._organization / "incoming" / _folder_name(pipeline)

    def may_access(self, caller: Caller, action: str, path: str) -> bool:
        """Whether the caller may do `path.read`, `path.write` or `path.checkpoint` on a path."""
        may = {"path.read": self.may_read, "path.write": self.may_write, "path.checkpoint": self.may_checkpoint}
        return action in may and may[action](caller, path)

    def may_use(self, caller: Caller, connection: str) -> bool:
        """Whether the caller may use a connection, by the name under which the pipeline of the caller's run declares it."""
        return self.connection_used(caller, connection) is not None

    def connection_used(self, caller: Caller, connection: str) -> ResourceId | None:
        """Return the connection that the caller's run declares by that name, if its run-as principal may use it now."""
        return next((edge.target for edge in self._list_usable_connections(caller) if edge.name == connection), None)

    def may_read(self, caller: Caller, path: str) -> bool:
        """Whether the caller's run may read a path or `file:` URI: in the folder of the run, or an incoming file of its stream.

        Incoming files may be read while the run-as principal may use a declared connection.
        """
        file, run = _local(path), self._run(caller)
        if file is None or run is None or caller.run is None:
            return False
        is_incoming = file.is_relative_to(self.incoming(run.pipeline)) and bool(self._list_usable_connections(caller))
        return (is_incoming or file.is_relative_to(self.staging(caller.run))) and not _contains_symlink(file)

    def may_write(self, caller: Caller, path: str) -> bool:
        """Whether the caller's run may write, and replace, a path: it is below the folder of the run."""
        file = _local(path) if "%" not in path else None  # Spark does not decode the path of a write
        if file is None or caller.run is None or self._run(caller) is None:
            return False
        staging = self.staging(caller.run)
        return file != staging and file.is_relative_to(staging) and not _contains_symlink(file)

    def may_checkpoint(self, caller: Caller, path: str) -> bool:
        """Whether a stream of the caller's run may store its progress in a path: it is in the checkpoint folder of its pipeline."""
        file, run = _local(path), self._run(caller)
        if file is None or run is None:
            return False
        return file.is_relative_to(self.checkpoints(run.pipeline)) and not _contains_symlink(file)

    def place(self, connection: ResourceId) -> Place:
        """Return the target of a connection. Raises `EgressError` if the operator does not allow it, or `PlaceError`."""
        document = self._store.document(CONNECTION, connection)
        if document is None:
            raise PlaceError(
                "the connection of the pipeline was deleted; declare another connection in the definition of the pipeline"
            )
        match document["kind"]:
            case "folder":
                return FolderPlace(
                    self._require_allowed(connection, lambda: self._egress.folder(str(document["folder"])))
                )
            case "postgresql":
                parts = {key: value for key, value in document.items() if key != "kind"}
                addresses = self._addresses(connection, str(document["host"]), int(document["port"]))
                return DatabasePlace(
                    **parts, password=self._secret(connection).get("password", ""), addresses=addresses
                )
            case "http":
                return self._http_place(connection, str(document["base_url"]))
            case kind:
                raise PlaceError(
                    f"the connection has the kind `{kind}`, which this version of Headgate does not know; "
                    "create the connection again with a known kind, or ask the operator to update Headgate"
                )

    def jdbc_access(self, caller: Caller, connection: str) -> JdbcAccess:
        """Return how Spark connects to a database for the run that declares it by this name. Raises `JdbcAccessError`."""
        found = self.connection_used(caller, connection)
        if found is None:
            raise JdbcAccessError(
                "the connection cannot be used by this statement; run the statement in a pipeline that declares the "
                "connection, with a run-as principal that may use it"
            )
        try:
            place = database_of(self.place(found), connection)
        except (PlaceError, EgressError) as error:
            raise JdbcAccessError(str(error)) from error
        return jdbc_access(place)

    def _secret(self, connection: ResourceId) -> Mapping[str, str]:
        kept = self._store.document(SECRET, connection)
        try:
            return self._vault.decrypt(connection, kept) if kept else {}
        except VaultError as error:
            raise PlaceError(str(error)) from error

    def _run(self, caller: Caller) -> Run | None:
        return self._control.snapshot.runs.get(caller.run) if caller.run else None

    def _http_place(self, connection: ResourceId, base_url: str) -> HttpPlace:
        def decide(host: str, port: int) -> Sequence[Address]:
            return self._require_allowed(connection, lambda: self._egress.addresses(host, port))

        self._addresses(connection, *host_and_port(base_url))
        return HttpPlace(base_url, self._secret(connection), decide)

    def _addresses(self, connection: ResourceId, host: str, port: int) -> Sequence[Address]:
        try:
            return self._require_allowed(connection, lambda: self._egress.addresses(host, port))
        except OSError as error:
            raise PlaceError(
                f"the host of the connection `{self._name(connection)}` cannot be resolved; check its name, and the DNS of "
                "the server"
            ) from error

    def _require_allowed(self, connection: ResourceId, decide: Callable[[], Allowed]) -> Allowed:
        """Return the result of `decide`. The error names the connection, but not its host or folder, which only the log has."""
        try:
            return decide()
        except EgressError as error:
            name = self._name(connection)
            log.warning("egress control refused the connection %s: %s", connection, error)
            raise EgressError(
                f"the operator does not allow this organization to reach the target of the connection `{name}`; ask the "
                f"operator to list it in the file that {EGRESS_SETTING} names"
            ) from error

    def _name(self, connection: ResourceId) -> str:
        found = self._control.snapshot.resources.get(connection)
        return found.name if found else connection

    def _list_usable_connections(self, caller: Caller) -> list[Edge]:
        """Return the connections that the caller's run declares and its run-as principal may use now."""
        resources, run = self._control.snapshot.resources, self._run(caller)
        pipeline = resources.get(run.pipeline) if run else None
        declared = pipeline_edges(self._control.snapshot, pipeline, CONNECTIONS) if pipeline else ()
        there = [edge for edge in declared if edge.target in resources]
        return [edge for edge in there if self._control.ask(Question(caller, "connection.use", edge.target)).allowed]


def connection(facts: Snapshot, pipeline: ResourceId, name: str) -> ResourceId | None:
    """Return the connection that a pipeline declares by a name: its own, or that of a source that it declares by that name."""
    found = facts.resources[pipeline]
    sources = (facts.resources.get(each.target) for each in found.edges("source") if each.name == name)
    through = (edge for each in sources if each for edge in each.edges(CONNECTIONS))
    own = (edge for edge in found.edges(CONNECTIONS) if edge.name == name)
    return next((edge.target for edge in (*own, *through)), None)


def _contains_symlink(place: Path) -> bool:
    """Whether a folder has a symbolic link at any depth, or cannot be read: Spark reads all of it and follows links."""
    if not place.is_dir():
        return False
    try:
        walk = os.walk(place, onerror=_raise_unless_deleted)
        return any(Path(above, name).is_symlink() for above, folders, files in walk for name in (*folders, *files))
    except OSError:
        return True


def _raise_unless_deleted(error: OSError) -> None:
    # Spark renames and deletes its temporary folders while it writes. Nothing that Spark does creates a link.
    if not isinstance(error, FileNotFoundError):
        raise error


def _local(path: str) -> Path | None:
    parts = urlsplit(path)
    if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
        return None
    # Spark encodes URIs with percent signs and passes paths as they are; a path with a glob pattern is no file.
    name = unquote(parts.path) if parts.scheme == "file" else path
    if not name.startswith("/") or any(sign in name for sign in "*?[]{}\\\0"):
        return None
    return Path(os.path.realpath(name))


def _folder_name(id: str) -> str:
    """Return an id that can be the name of a folder. Raises `PlaceError` for any other id; an imported log may have one."""
    if not is_folder_name(id):
        raise PlaceError(
            f"the id `{id}` of a run or pipeline cannot be the name of a folder; create the pipeline again"
        )
    return id
