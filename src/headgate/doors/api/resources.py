"""The resource tree as the caller may see it; databases and connections are made here."""

from operator import itemgetter
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from headgate.control.connections import CreateConnection, DeleteConnection
from headgate.control.ids import new_id
from headgate.control.resources import CreateResource
from headgate.doors.api.names import LAKE, Text, project, resource, written
from headgate.doors.services import By, Uses
from headgate.facts.ids import ResourceId

router = APIRouter(tags=["resources"])

_NOT_NAMED = ("organization", "project", "group", "service_principal", "token")
"""Where everything lies, and what has addresses of its own."""


class NewDatabase(BaseModel):
    """A database of the lake."""

    name: Text


class NewConnection(BaseModel):
    """A folder of this machine that pipelines may read through this connection."""

    name: Text
    folder: Text


@router.get("/resources")
def list_resources(services: Uses, caller: By) -> list[dict[str, Any]]:
    """Everything with a name that the caller may see, with its type."""
    facts = services.control.snapshot
    seen = [
        {"name": written(services, id), "type": each.type}
        for id, each in facts.resources.items()
        if each.type not in _NOT_NAMED and services.control.sees(caller, id)
    ]
    return sorted(seen, key=itemgetter("name"))


@router.post("/databases", status_code=201)
def create_database(body: NewDatabase, services: Uses, caller: By) -> dict[str, Any]:
    """Create a database in the lake."""
    command = CreateResource(ResourceId(new_id("d")), "database", resource(services, caller, LAKE), body.name)
    return {"name": f"{LAKE}.{body.name}", "revision": services.control.execute(command, caller).revision}


@router.post("/connections", status_code=201)
def create_connection(body: NewConnection, services: Uses, caller: By) -> dict[str, Any]:
    """Declare a folder."""
    command = CreateConnection(ResourceId(new_id("c")), project(services), body.name, body.folder)
    return {"name": body.name, "revision": services.control.execute(command, caller).revision}


@router.delete("/connections/{name}")
def delete_connection(name: str, services: Uses, caller: By) -> dict[str, Any]:
    """Delete a connection; what declares it can no longer read through it."""
    after = services.control.execute(DeleteConnection(resource(services, caller, name)), caller)
    return {"revision": after.revision}
