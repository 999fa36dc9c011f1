"""Connections: places outside the lake that a pipeline may read."""

from dataclasses import dataclass

from headgate.control.command import InvalidError, MissingError, Plan, View
from headgate.control.ports import DocumentPut
from headgate.facts.changes import ResourceCreated, ResourceDeleted
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class CreateConnection:
    """A declared folder. The folder stands in the connection's document: nothing is decided by it but containment."""

    connection: ResourceId
    title: str
    folder: str
    name: str = "connection.create"

    def plan(self, view: View) -> Plan:
        """Need `project.create_connection`."""
        project = default_project(view)
        view.require_action("project.create_connection", project)
        view.free_id(self.connection)
        view.free_name(project, self.title)
        if not self.folder.startswith("/") or "\0" in self.folder:
            raise InvalidError(f"`{self.folder}` is not an absolute path of a folder")
        return Plan(
            (ResourceCreated(self.connection, "connection", project, self.title, view.actor),),
            (DocumentPut("connection", self.connection, {"kind": "folder", "folder": self.folder}),),
        )


@dataclass(frozen=True, slots=True)
class DeleteConnection:
    """The connection goes; pipelines that declare it can no longer read through it."""

    connection: ResourceId
    name: str = "connection.delete"

    def plan(self, view: View) -> Plan:
        """Need `connection.delete`."""
        view.resource(self.connection, "connection")
        view.require_action("connection.delete", self.connection)
        return Plan((ResourceDeleted(self.connection),), (DocumentPut("connection", self.connection, None),))


def default_project(view: View) -> ResourceId:
    """Return the organization's one project (Nekt and Data Mesh Manager have no other)."""
    for child in view.facts.children[view.root].values():
        if view.facts.resources[child].type == "project":
            return child
    raise MissingError("the organization has no project")
