"""Settings of the access models in force: plans, editions, role modes, change processes ..."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel

from headgate.control.access.switches import ChangeSetting
from headgate.control.organizations.models_in_force import Switch, list_switches
from headgate.control.questions.resource_names import ORGANIZATION_NAME
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import find_resource
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, page_model
from headgate.endpoints.common.writes import DONE, Writes

router = ApiRouter(tags=["settings"])


class SettingValue(BaseModel):
    """A setting of an access model on a resource: its current, its default and its possible values."""

    id: str
    model: str
    name: str
    value: str
    default: str
    values: list[str]


class SettingPatch(StrictSchema):
    """A value for a setting on a resource. It applies to the resource and all below it, unless a nearer resource sets it."""

    value: Called
    resource: Called = ORGANIZATION_NAME


@router.get("/settings", response_model=page_model(SettingValue), **document_actions("{type}.see_settings"))
def list_settings(
    organization: CurrentOrganization,
    caller: CurrentCaller,
    pages: CurrentPaging,
    on: Annotated[Called, Query(alias="resource", description="an id or name")] = ORGANIZATION_NAME,
) -> dict[str, Any]:
    """List the settings of a resource.

    If the access model has no `see_settings` for the resource, every caller that may see the resource may list them.
    """
    facts = organization.control.snapshot
    place = facts.resources[find_resource(organization, caller, on)]
    return page_of_rows(
        map(_row, list_switches(organization.control, caller, place)), pages, ("name", "model"), facts.revision
    )


@router.put("/settings/{setting}", **DONE, **document_actions("{type}.set_{setting}"))
def put_setting(
    setting: Called, body: SettingPatch, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Change a setting. A setting that no role of the model may change, such as a plan, is changed by the operator."""
    place = find_resource(organization, caller, body.resource)
    return write.execute(ChangeSetting(place, setting, body.value), place, id=place)


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
