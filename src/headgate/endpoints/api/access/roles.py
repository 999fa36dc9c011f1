"""Roles: those of the access models in force, and the organization's custom roles."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, Field

from headgate.control.access.roles import DefineRole, DeleteRole
from headgate.control.organizations.models_in_force import active_models
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.context import CurrentOrganization
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import caller_only, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, page_model
from headgate.endpoints.common.writes import DONE, Writes
from headgate.model.model import Model, Role

router = ApiRouter(tags=["roles"])


class RoleSummary(BaseModel):
    """A role: the types that it is assigned on, the kinds of subjects that can hold it, and all actions that it grants.

    A `custom` role was defined by the organization and consists of the permissions in `includes`.
    """

    id: str
    name: str
    model: str
    custom: bool
    on: list[str]
    to: list[str]
    includes: list[str]
    actions: list[str]


class CustomRoleCreate(StrictSchema):
    """The permissions of a custom role."""

    permissions: Annotated[list[Called], Field(max_length=200)]


@router.get(
    "/roles",
    response_model=page_model(RoleSummary),
    **caller_only("every caller may know which roles exist"),
)
def list_roles(organization: CurrentOrganization, pages: CurrentPaging) -> dict[str, Any]:
    """List the roles that can be assigned in the organization, with their actions."""
    return page_of_rows(_rows(organization), pages, ("name", "model"), organization.control.snapshot.revision)


@router.put("/roles/{role}", **DONE, **document_actions("organization.define_role"))
def put_role(role: Called, body: CustomRoleCreate, write: Writes) -> dict[str, Any]:
    """Create a custom role, or replace the custom role of that name."""
    return write.execute(DefineRole(role, tuple(dict.fromkeys(body.permissions))), id=role)


@router.delete("/roles/{role}", **DONE, **document_actions("organization.delete_role"))
def delete_role(role: Called, write: Writes) -> dict[str, Any]:
    """Delete a custom role that no subject holds."""
    return write.execute(DeleteRole(role), id=role)


def _rows(organization: Organization) -> Iterator[dict[str, Any]]:
    for model in active_models(organization.control):
        yield from (_row(model, role) for role in model.roles.values() if role.on)
        custom = model.custom_roles
        for name, permissions in organization.control.snapshot.custom_roles.items() if custom else ():
            made = [model.roles[each] for each in permissions if each in model.roles]
            yield {
                "id": f"{model.name}.custom.{name}",
                "name": name,
                "model": model.name,
                "custom": True,
                "on": sorted(custom.on) if custom else [],
                "to": sorted(custom.to) if custom else [],
                "includes": sorted(permissions),
                "actions": sorted(frozenset[str]().union(*(each.actions for each in made))),
            }


def _row(model: Model, role: Role) -> dict[str, Any]:
    return {
        "id": f"{model.name}.{role.name}",
        "name": role.name,
        "model": model.name,
        "custom": False,
        "on": sorted(role.on),
        "to": sorted(role.to),
        "includes": sorted(role.closure - {role.name}),
        "actions": sorted(role.actions),
    }
