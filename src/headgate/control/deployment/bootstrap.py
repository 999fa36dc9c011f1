"""Creates a deployment and its organizations: each organization is a resource in the deployment's log and has its own log."""

from contextlib import suppress
from dataclasses import dataclass, field

from headgate.control.control import Control
from headgate.control.identity.principals import SignUp
from headgate.control.kernel.errors import AlreadyExistsError
from headgate.control.kernel.metadata import INTERNAL, CommandMetadata
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


@dataclass(frozen=True, slots=True)
class OrganizationSpec:
    """The specification of a new organization: root, name, owner and models."""

    root: ResourceId
    title: str
    owner: PrincipalId
    owner_name: str
    model: str
    tree: str | None = None
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])


def bootstrap_deployment(organizations: Organizations, model: str) -> None:
    """Create the deployment's own log if it is empty, and put the deployment's model in force if no model decides on it."""
    deployment = organizations.deployment
    # If another process is faster, its entries are read instead.
    if not deployment.exists:
        with suppress(AlreadyExistsError):
            deployment.control.execute(CreateDeployment(model), None)
    governing = organizations.governing
    if governing is not None and not governs_deployment(deployment.control.snapshot, deployment.control.model):
        with suppress(AlreadyExistsError):
            deployment.control.execute(GovernDeployment(governing), None)


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
    organization.control.preview(_build_creation(founding), None, call)
    if organization.exists or not _is_listed(deployment, founding):
        _list(deployment, founding, caller, call)
    organization = organizations.open(founding.root)
    organization.control.execute(_build_creation(founding), None, begins or call)
    return organization


def preview_founding(
    organizations: Organizations,
    founding: OrganizationSpec,
    caller: Caller | None = None,
    call: CommandMetadata = INTERNAL,
) -> None:
    """Raise the `CommandError` that `create_organization` would raise; write nothing."""
    organizations.deployment.control.preview(_build_listing(founding), caller, call)
    organizations.draft(founding.root).control.preview(_build_creation(founding), None, call)


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


def _build_creation(founding: OrganizationSpec) -> CreateOrganization:
    """Return the command for the organization's own log."""
    return CreateOrganization(
        founding.owner, founding.owner_name, founding.model, founding.tree, founding.root, founding.attributes
    )
