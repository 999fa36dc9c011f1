"""Connections: places outside the lake that a pipeline may read."""

from dataclasses import dataclass

from headgate.control.command import InvalidError, Plan, View
from headgate.control.ports import DocumentPut
from headgate.control.resources import CreateResource, DeleteResource
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class CreateConnection:
    """A declared folder. The folder stands in the connection's document: nothing is decided by it but containment."""

    connection: ResourceId
    project: ResourceId
    title: str
    folder: str
    name: str = "connection.create"

    def plan(self, view: View) -> Plan:
        """Need `project.create_connection`."""
        made = CreateResource(self.connection, "connection", self.project, self.title).plan(view)
        if not self.folder.startswith("/") or "\0" in self.folder:
            raise InvalidError(f"`{self.folder}` is not an absolute path of a folder")
        document = DocumentPut("connection", self.connection, {"kind": "folder", "folder": self.folder})
        return Plan(made.changes, (document,))


@dataclass(frozen=True, slots=True)
class DeleteConnection:
    """The connection goes; pipelines that declare it can no longer read through it."""

    connection: ResourceId
    name: str = "connection.delete"

    def plan(self, view: View) -> Plan:
        """Need `connection.delete`."""
        view.target(self.connection, "connection")
        return DeleteResource(self.connection).plan(view)
