"""The access models of the deployment, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from headgate.control.kernel.errors import NotFoundError
from headgate.control.models.installations import list_installed
from headgate.control.organizations.models_in_force import active_models
from headgate.endpoints.common.context import CurrentApp, CurrentOrganization
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import caller_only
from headgate.endpoints.common.schemas import Called, page_model
from headgate.model.describe import describe_condition
from headgate.model.model import Model

router = ApiRouter(tags=["models"])


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
    """A setting of an access model: the types of resources that it is set on, its possible values and its default."""

    name: str
    on: list[str]
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
    """List the access models that decide in the organization, and those that come with Headgate.

    A model that an operator installed may be another organization's: only operators list it.
    """
    installed = _find_installed(deployed)
    rows = (_line(organization, installed, each) for each in _find_all(organization, installed).values())
    return page_of_rows(rows, pages, ("name",), organization.control.snapshot.revision, key="name")


@router.get("/models/{model}", response_model=AccessModel, **caller_only("every caller may know the access models"))
def get_model(deployed: CurrentApp, model: Called, organization: CurrentOrganization) -> dict[str, Any]:
    """Get an access model: its types, settings and roles, and the actions that the roles grant."""
    installed = _find_installed(deployed)
    found = _find_all(organization, installed).get(model)
    if found is None:
        raise NotFoundError(organization.wording.hidden((model,)))
    return {
        **_line(organization, installed, found),
        "types": [
            {"name": each.name, "word": each.word, "parents": list(each.parents), "implicit": each.implicit}
            for each in found.types.values()
        ],
        "settings": [
            {"name": each.name, "on": list(each.on), "values": list(each.values), "default": each.default}
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


@dataclass(frozen=True, slots=True)
class _Installed:
    """An installed model, in its current version, and whether it came with Headgate."""

    model: Model
    is_shipped: bool


def _find_all(organization: CurrentOrganization, installed: Mapping[str, _Installed]) -> Mapping[str, Model]:
    """Return the shipped models by name, and those in force in the organization, in its version."""
    shipped = {name: each.model for name, each in installed.items() if each.is_shipped}
    return {**shipped, **{each.name: each for each in active_models(organization.control)}}


def _find_installed(deployed: CurrentApp) -> Mapping[str, _Installed]:
    facts, sources = deployed.organizations.deployment.control.snapshot, deployed.organizations.models
    found = {name: (sources.find(each.hash), each.is_shipped) for name, each in list_installed(facts).items()}
    return {name: _Installed(each.model, is_shipped) for name, (each, is_shipped) in found.items() if each is not None}


def _line(organization: CurrentOrganization, installed: Mapping[str, _Installed], model: Model) -> dict[str, Any]:
    current = installed.get(model.name)
    return {
        "name": model.name,
        "version": model.version,
        "hash": model.hash,
        "in_force": any(each.name == model.name for each in active_models(organization.control)),
        "installed": current.model.version if current else None,
    }


def _matrix(model: Model, type: str) -> dict[str, list[str]]:
    return {action: list(model.roles_granting(action)) for action in model.actions_on(type)}
