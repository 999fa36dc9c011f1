"""Connections: folders of the server's machine that pipelines may read."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from headgate.control.connections import CreateConnection, DeleteConnection
from headgate.control.ids import new_id
from headgate.doors.api.asking import Asking
from headgate.doors.api.bodies import Called, Page, Strict, Title
from headgate.doors.api.names import Text, project, resource
from headgate.doors.api.paging import Pages
from headgate.doors.api.resources import Line, list_resources
from headgate.doors.api.routing import DISCOVER, needs
from headgate.doors.api.writing import DONE, Writes
from headgate.doors.services import By, Uses
from headgate.facts.ids import ResourceId

router = APIRouter(tags=["connections"])

_TYPE = "connection"


class NewConnection(Strict):
    """A folder of the server's machine, for the pipelines of a project: where none is named, of the only one."""

    name: Title
    folder: Annotated[Text, Field(max_length=4000)]
    project: Called | None = None


@router.get("/connections", response_model=Page[Line], **needs(DISCOVER))
def list_connections(moment: Asking, pages: Pages) -> dict[str, Any]:
    """List the connections that the caller may see."""
    return list_resources(moment, pages, type=_TYPE)


@router.post(
    "/connections",
    status_code=201,
    **DONE,
    **needs("project.create_connection"),
)
def create_connection(body: NewConnection, services: Uses, caller: By, write: Writes) -> dict[str, Any]:
    """Declare a folder. Who makes a connection lends its use to others by assignments."""
    place = project(services) if body.project is None else resource(services, caller, body.project)
    id = ResourceId(new_id("c"))
    return write.send(CreateConnection(id, place, body.name, body.folder), of=id, id=id, name=body.name)


@router.delete("/connections/{connection}", **DONE, **needs("connection.delete"))
def delete_connection(connection: Called, services: Uses, caller: By, write: Writes) -> dict[str, Any]:
    """Delete a connection; what declares it can no longer read through it."""
    id = resource(services, caller, connection)
    return write.send(DeleteConnection(id), of=id, id=id)
