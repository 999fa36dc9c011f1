"""The access models of the deployment: operators install and remove them."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.models.commands import InstallModel, RemoveModel
from headgate.control.models.installations import list_installed, require_installed
from headgate.control.models.library import MAX_SOURCE, load_source
from headgate.control.models.usage import list_users, require_unused
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.decision.types import Question
from headgate.endpoints.common.context import CurrentApp
from headgate.endpoints.common.deployment_callers import ByUser, WritesDeployment
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, page_model
from headgate.endpoints.common.writes import DONE
from headgate.model.diagnostics import ModelError

router = ApiRouter(prefix="/deployment/models", tags=["deployment"])

_LIST = "deployment.list_models"


class InstalledModelSummary(BaseModel):
    """An installed access model: its current version, the hash of its source, and the number of installed versions.

    A `shipped` model came with Headgate; its next version comes with the next version of Headgate.
    """

    name: str
    version: int
    hash: str
    versions: int
    shipped: bool


class InstalledModelDetail(InstalledModelSummary):
    """An installed access model with its source, and the names of the organizations that use it."""

    source: str
    organizations: list[str]


class ModelInstallation(StrictSchema):
    """The source of an access model, in YAML."""

    source: Annotated[str, Field(min_length=1, max_length=MAX_SOURCE)]


@router.get("", response_model=page_model(InstalledModelSummary), **document_actions(_LIST))
def list_deployment_models(deployed: CurrentApp, caller: ByUser, pages: CurrentPaging) -> dict[str, Any]:
    """List the access models that organizations can choose."""
    control = deployed.organizations.deployment.control
    control.require(Question(caller, _LIST, DEPLOYMENT))
    rows = (_summary(deployed, name) for name in list_installed(control.snapshot))
    return page_of_rows(rows, pages, ("name",), control.snapshot.revision, key="name")


@router.post("", status_code=201, **DONE, **document_actions("deployment.install_model"))
def install_deployment_model(body: ModelInstallation, deployed: CurrentApp, write: WritesDeployment) -> dict[str, Any]:
    """Install an access model, or the next version of one. Organizations keep their version until they are upgraded."""
    deployed.organizations.deployment.control.require(Question(write.caller, "deployment.install_model", DEPLOYMENT))
    try:
        model = load_source(body.source, "model.yaml")
    except ModelError as error:
        raise InvalidError(str(error)) from error
    return write.execute(InstallModel(model), None, id=model.model.name, name=model.model.name)


@router.get("/{model}", response_model=InstalledModelDetail, **document_actions(_LIST))
def get_deployment_model(model: Called, deployed: CurrentApp, caller: ByUser) -> dict[str, Any]:
    """Get an installed access model with its source."""
    organizations = deployed.organizations
    control = organizations.deployment.control
    control.require(Question(caller, _LIST, DEPLOYMENT))
    if model not in list_installed(control.snapshot):
        raise NotFoundError(f"the access model `{model}` is not installed; `GET /deployment/models` lists the models")
    found = require_installed(control.snapshot, organizations.models, model)
    return {
        **_summary(deployed, model),
        "source": found.source,
        "organizations": list(list_users(organizations, model)),
    }


@router.delete("/{model}", **DONE, **document_actions("deployment.remove_model"))
def delete_deployment_model(model: Called, deployed: CurrentApp, write: WritesDeployment) -> dict[str, Any]:
    """Remove an access model, which no organization may use. Its source is kept, for past decisions."""
    organizations = deployed.organizations
    organizations.deployment.control.require(Question(write.caller, "deployment.remove_model", DEPLOYMENT))
    answer = write.execute(RemoveModel(model, list_users(organizations, model)), None, id=model)
    if not write.dry_run:
        require_unused(organizations, model)
    return answer


def _summary(deployed: CurrentApp, name: str) -> dict[str, Any]:
    organizations = deployed.organizations
    installed = list_installed(organizations.deployment.control.snapshot)[name]
    found = require_installed(organizations.deployment.control.snapshot, organizations.models, name).model
    return {
        "name": name,
        "version": found.version,
        "hash": found.hash,
        "versions": len(installed.versions),
        "shipped": installed.is_shipped,
    }
