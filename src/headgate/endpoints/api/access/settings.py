"""The switches of the access models in force: plans, editions, role modes, change processes ..."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from headgate.control.access.switches import ChangeSetting
from headgate.control.organizations.models_in_force import Switch, switches
from headgate.endpoints.common.context import By, Uses
from headgate.endpoints.common.lookup import ORGANIZATION, resource
from headgate.endpoints.common.paging import Pages, page
from headgate.endpoints.common.route_metadata import needs
from headgate.endpoints.common.schemas import Called, Page, Strict
from headgate.endpoints.common.writes import DONE, Writes

router = APIRouter(tags=["settings"])


class Shown(BaseModel):
    """A switch of a model at a resource: its value there, and which it can have."""

    id: str
    model: str
    name: str
    value: str
    default: str
    values: list[str]


class NewValue(Strict):
    """The value of a switch on a resource, and below it until a nearer one says otherwise."""

    value: Called
    resource: Called = ORGANIZATION


@router.get("/settings", response_model=Page[Shown], **needs("{type}.see_settings"))
def list_settings(
    services: Uses,
    caller: By,
    pages: Pages,
    on: Annotated[Called, Query(alias="resource", description="an id or name")] = ORGANIZATION,
) -> dict[str, Any]:
    """List every switch that can be set on a resource. Where no model says who sees them, who sees the resource does."""
    facts = services.control.snapshot
    place = facts.resources[resource(services, caller, on)]
    return page(map(_row, switches(services.control, caller, place)), pages, ("name", "model"), facts.revision)


@router.put("/settings/{setting}", **DONE, **needs("{type}.set_{setting}"))
def change_setting(setting: Called, body: NewValue, services: Uses, caller: By, write: Writes) -> dict[str, Any]:
    """Set a switch. What no role of the model sets, such as a plan, the deployment does."""
    place = resource(services, caller, body.resource)
    return write.send(ChangeSetting(place, setting, body.value), place, id=place)


def _row(found: Switch) -> dict[str, Any]:
    setting = found.setting
    return {
        "id": f"{found.model}.{setting.name}",
        "model": found.model,
        "name": setting.name,
        "value": found.value,
        "default": setting.default,
        "values": list(setting.values),
    }
