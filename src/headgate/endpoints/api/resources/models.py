"""The access models of the deployment, as data."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from headgate.control.kernel.errors import NotFoundError
from headgate.control.models.installed import list_installed, require_installed
from headgate.control.organizations.models_in_force import active_models
from headgate.endpoints.common.context import CurrentApp, CurrentOrganization
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import caller_only
from headgate.endpoints.common.schemas import Called, page_model
from headgate.model.describe import describe_condition
from headgate.model.model import Model

router = APIRouter(tags=["models"])


class ModelSummary(BaseModel):
    """An access model: its version, the hash of its source, and whether it is in force somewhere in the organization.

    `installed` is the current version that the organization could use; None for a model that is not installed any more.
    """

    name: str
    version: int
    hash: str
    in_force: bool
    installed: int | None


class ModelType(BaseModel):
    """A resource type of an access model: the model's own word for it, and the types that can be its parent.

    A resource of an `implicit` type is created together with its parent.
    """

    name: str
    word: str
    parents: list[str]
    implicit: bool


class ModelSetting(BaseModel):
    """A setting of an access model: the type of resources that it is set on, its possible values and its default."""

    name: str
    on: str
    values: list[str]
    default: str


class ModelRole(BaseModel):
    """A role of an access model.

    `on` are the types that it is assigned on, `to` the kinds of subjects that can hold it, `includes` the roles that it
    contains, and `when` the conditions under which an assignment is effective.
    """

    name: str
    on: list[str]
    to: list[str]
    includes: list[str]
    when: list[str]


class AccessModel(ModelSummary):
    """An access model. `matrix` maps every type and action to the roles that grant the action."""

    types: list[ModelType]
    settings: list[ModelSetting]
    roles: list[ModelRole]
    matrix: dict[str, dict[str, list[str]]]


@router.get(
    "/models", response_model=page_model(ModelSummary), **caller_only("every caller may know the access models")
)
def list_models(deployed: CurrentApp, organization: CurrentOrganization, pages: CurrentPaging) -> dict[str, Any]:
    """List the access models of the organization and of the deployment."""
    rows = (_line(deployed, organization, each) for each in _find_all(deployed, organization).values())
    return page_of_rows(rows, pages, ("name",), organization.control.snapshot.revision, key="name")


@router.get("/models/{model}", response_model=AccessModel, **caller_only("every caller may know the access models"))
def get_model(deployed: CurrentApp, model: Called, organization: CurrentOrganization) -> dict[str, Any]:
    """Get an access model: its types, settings and roles, and the actions that the roles grant."""
    found = _find_all(deployed, organization).get(model)
    if found is None:
        raise NotFoundError(organization.wording.hidden((model,)))
    return {
        **_line(deployed, organization, found),
        "types": [
            {"name": each.name, "word": each.word, "parents": list(each.parents), "implicit": each.implicit}
            for each in found.types.values()
        ],
        "settings": [
            {"name": each.name, "on": each.on, "values": list(each.values), "default": each.default}
            for each in found.settings.values()
        ],
        "roles": [
            {
                "name": each.name,
                "on": sorted(each.on),
                "to": sorted(each.to),
                "includes": sorted(each.closure - {each.name}),
                "when": [describe_condition(term).replace("`", "") for term in each.when],
            }
            for each in found.roles.values()
        ],
        "matrix": {type: _matrix(found, type) for type in found.types},
    }


def _find_all(deployed: CurrentApp, organization: CurrentOrganization) -> Mapping[str, Model]:
    """Return the installed models by name, and those in force in the organization, in its version."""
    return {**_find_installed(deployed), **{each.name: each for each in active_models(organization.control)}}


def _find_installed(deployed: CurrentApp) -> Mapping[str, Model]:
    facts, sources = deployed.organizations.deployment.control.snapshot, deployed.organizations.models
    return {name: require_installed(facts, sources, name).model for name in list_installed(facts)}


def _line(deployed: CurrentApp, organization: CurrentOrganization, model: Model) -> dict[str, Any]:
    installed = _find_installed(deployed).get(model.name)
    return {
        "name": model.name,
        "version": model.version,
        "hash": model.hash,
        "in_force": any(each.name == model.name for each in active_models(organization.control)),
        "installed": installed.version if installed else None,
    }


def _matrix(model: Model, type: str) -> dict[str, list[str]]:
    return {action: list(model.roles_granting(action)) for action in model.actions_on(type)}
