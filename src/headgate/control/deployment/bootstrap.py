"""Creates a deployment and its organizations: each organization is a resource in the deployment's log and has its own log."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from headgate.control.control import Control
from headgate.control.identity.principals import SignUp
from headgate.control.kernel.errors import AlreadyExistsError
from headgate.control.kernel.metadata import INTERNAL, CommandMetadata
from headgate.control.kernel.model_source import MODEL_SOURCE, SourcedModel
from headgate.control.kernel.stores import Stores
from headgate.control.models.change_commands import UpgradeModel
from headgate.control.models.commands import InstallModel
from headgate.control.models.installations import require_installed
from headgate.control.models.library import ModelLibrary
from headgate.control.models.shipped_models import shipped_model, shipped_models
from headgate.control.models.usage import reinstall_used_model
from headgate.control.organizations.commands import (
    DEPLOYMENT,
    CreateDeployment,
    CreateOrganization,
    GovernDeployment,
    governs_deployment,
)
from headgate.control.organizations.organization import Organization, Organizations
from headgate.control.resources.commands import CreateResource
from headgate.facts.caller import Caller
from headgate.facts.changes import Attributes
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.model.model import Model


@dataclass(frozen=True, slots=True)
class OrganizationSpec:
    """The specification of a new organization: root, name, owner, and the names of installed models."""

    root: ResourceId
    title: str
    owner: PrincipalId
    owner_name: str
    model: str
    tree: str | None = None
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])


def open_organizations(stores: Stores, clock: Callable[[], float], home: str, address: str = "") -> Organizations:
    """Return the organizations of a store, after the deployment's own log has everything that it needs.

    If the log is empty, the deployment is created with the shipped model `home` as its home model. The shipped model of the
    deployment itself decides on it, unless its home model does, in its newest version; and every shipped model is installed.
    `address` is the public URL of the deployment.
    """
    library = ModelLibrary(stores)
    for each in (*shipped_models(), shipped_model(DEPLOYMENT)):
        library.add(each)
    organizations = Organizations(stores, library, clock, address=address)
    # If another process is faster, its entries are read instead.
    if not organizations.deployment.exists:
        with suppress(AlreadyExistsError):
            organizations.deployment.control.execute(CreateDeployment(shipped_model(home)), None)
    _govern(organizations, shipped_model(DEPLOYMENT))
    for each in shipped_models():
        _install_shipped(organizations, each)
    return organizations


def _govern(organizations: Organizations, governing: SourcedModel) -> None:
    """Assign the deployment its own model, or upgrade it to a higher version; a process of an earlier Headgate changes nothing."""
    deployment = organizations.deployment.control
    model, present = governing.model, deployment.models.get(governing.model.name)
    if not governs_deployment(deployment.snapshot, deployment.model):
        with suppress(AlreadyExistsError):
            deployment.execute(GovernDeployment(governing), None)
    elif present is not None and present.version < model.version:
        organizations.deployment.store.put_document(governing.document)
        deployment.execute(UpgradeModel(model), None)


def _install_shipped(organizations: Organizations, shipped: SourcedModel) -> None:
    """Install a shipped model, unless an operator removed it, or installed another model under its name."""
    control, model = organizations.deployment.control, shipped.model
    known = control.snapshot.installed_models.get(model.name)
    is_ours = known is None or (known.is_shipped and not known.is_removed)
    if is_ours and (known is None or model.hash not in known.versions):
        for each in (*(_stored_versions(organizations, model) if known is None else ()), shipped):
            with suppress(AlreadyExistsError):
                control.execute(InstallModel(each, is_shipped=True), None)


def _stored_versions(organizations: Organizations, shipped: Model) -> Iterable[SourcedModel]:
    """Return the other versions of a shipped model that an earlier Headgate stored without an installation, oldest first."""
    stored = organizations.deployment.store.documents(MODEL_SOURCE)
    others = [hash for hash, each in stored.items() if each["name"] == shipped.name and hash != shipped.hash]
    found = (organizations.models.find(hash) for hash in others)
    return sorted((each for each in found if each is not None), key=lambda each: each.model.version)


def create_organization(
    organizations: Organizations,
    founding: OrganizationSpec,
    caller: Caller | None = None,
    call: CommandMetadata = INTERNAL,
    begins: CommandMetadata | None = None,
) -> Organization:
    """Create an organization and return it. Raises `CommandError` if the caller may not create it or its name is taken.

    A call repeated after a crash between the two logs completes the organization. `begins` is the call for the
    organization's own log, if it differs.
    """
    deployment = organizations.deployment.control
    if founding.owner not in deployment.snapshot.principals:
        deployment.execute(SignUp(founding.owner, founding.owner_name), None, call)
    organization = organizations.draft(founding.root)
    # Checked before anything is written: an invalid organization must not be in the deployment's log either.
    creation = _build_creation(organizations, founding)
    organization.control.preview(creation, None, call)
    if organization.exists or not _is_listed(deployment, founding):
        _list(deployment, founding, caller, call)
    organization = organizations.open(founding.root)
    organization.control.execute(creation, None, begins or call)
    for model in organization.control.snapshot.models_in_force:
        reinstall_used_model(organizations, model)
    return organization


def preview_founding(
    organizations: Organizations,
    founding: OrganizationSpec,
    caller: Caller | None = None,
    call: CommandMetadata = INTERNAL,
) -> None:
    """Raise the `CommandError` that `create_organization` would raise; write nothing."""
    organizations.deployment.control.preview(_build_listing(founding), caller, call)
    organizations.draft(founding.root).control.preview(_build_creation(organizations, founding), None, call)


def _list(deployment: Control, founding: OrganizationSpec, caller: Caller | None, call: CommandMetadata) -> None:
    try:
        deployment.execute(_build_listing(founding), caller, call)
    except AlreadyExistsError:
        # A concurrent repeat has listed the organization; only one of the two creates its log.
        if not _is_listed(deployment, founding):
            raise


def _is_listed(deployment: Control, founding: OrganizationSpec) -> bool:
    there = deployment.snapshot.resources.get(founding.root)
    return there is not None and (there.name, there.attributes) == (founding.title, founding.attributes)


def _build_listing(founding: OrganizationSpec) -> CreateResource:
    """Return the command for the deployment's log."""
    return CreateResource(founding.root, "organization", DEPLOYMENT, founding.title, attributes=founding.attributes)


def _build_creation(organizations: Organizations, founding: OrganizationSpec) -> CreateOrganization:
    """Return the command for the organization's own log. Raises `InvalidError` if a model is not installed."""
    find = partial(require_installed, organizations.deployment.control.snapshot, organizations.models)
    tree = None if founding.tree is None else find(founding.tree).model
    return CreateOrganization(
        founding.owner, founding.owner_name, find(founding.model).model, tree, founding.root, founding.attributes
    )
