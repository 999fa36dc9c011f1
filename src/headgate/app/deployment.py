"""Opens a deployment: the store, its organizations, and a first organization if there is none."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from headgate.app.folders.checkpoint_folders import move_checkpoints
from headgate.app.settings.egress import egress_of
from headgate.app.settings.settings import DEFAULT_MODEL, Settings
from headgate.control.authentication.authenticator import Authenticator
from headgate.control.authentication.services import AuthServices, open_auth_services
from headgate.control.connections.vault import Vault
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.identity.tokens import IssueToken, format_token
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.ports import StoreError
from headgate.control.kernel.private_files import replace_private_file
from headgate.control.kernel.stores import Stores
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.control.models.folder import install_folder
from headgate.control.organizations.audit_recorder import AuditRecorder
from headgate.control.organizations.commands import ORGANIZATION
from headgate.control.organizations.organization import Organization, Organizations
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.pipelines.connections.egress import Egress
from headgate.pipelines.connections.external_access import ExternalAccessPolicy
from headgate.store import FolderLock, open_stores

FIRST = "main"
"""The name of the organization that is created in an empty deployment."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The core of a deployment, ready for commands and questions. `external_access` is that of the home organization."""

    settings: Settings
    lock: FolderLock | None
    stores: Stores
    organizations: Organizations
    auth_services: AuthServices
    identity: Authenticator
    audit: AuditRecorder
    home: Organization
    external_access: ExternalAccessPolicy
    egress: Callable[[Organization], Egress]
    """Returns the egress rules by which an organization's connections are decided."""
    vault: Vault
    """Encrypts the secrets of connections."""
    tasks: BackgroundTasks

    def external_access_of(self, organization: Organization) -> ExternalAccessPolicy:
        """Return the access policy of an organization's connections: their targets, and which files belong to which organization."""
        if organization is self.home:
            return self.external_access
        return _build_external_access(organization, self.egress(organization), self.settings, self.vault)

    def close(self) -> None:
        """Write checkpoints, which make the next start fast, and release the store and the data folder."""
        self.audit.close()
        self.organizations.keep()
        self.stores.close()
        if self.lock is not None:
            self.lock.close()


def open_deployment(settings: Settings, address: str = "", tasks: BackgroundTasks | None = None) -> Deployment:
    """Open the store, an embedded one for this process alone. Raises `StoreError` with the next step.

    `address` is the URL of the server: links begin with it unless the settings name a public URL. `tasks` are the background
    tasks of the process.
    """
    lock = None if settings.store_url else FolderLock.take(settings.folder)
    try:
        stores = open_stores(settings.store_url or settings.folder, settings.seal_key)
        return open_deployment_over(settings, stores, lock, address=address, tasks=tasks)
    except BaseException:
        if lock is not None:
            lock.close()
        raise


def open_deployment_over(
    settings: Settings,
    stores: Stores,
    lock: FolderLock | None = None,
    clock: Callable[[], float] = time.time,
    address: str = "",
    tasks: BackgroundTasks | None = None,
) -> Deployment:
    """Return the deployment over an open store; create the first organization if there is none."""
    try:
        return _open_over(settings, stores, lock, clock, address, tasks or BackgroundTasks())
    except BaseException:
        stores.close()
        raise


def _open_over(
    settings: Settings,
    stores: Stores,
    lock: FolderLock | None,
    clock: Callable[[], float],
    address: str,
    tasks: BackgroundTasks,
) -> Deployment:
    organizations = open_organizations(stores, clock, DEFAULT_MODEL, address=settings.logins.address or address)
    if settings.models is not None:
        install_folder(organizations.deployment.control, settings.models)
    auth_services = open_auth_services(organizations, settings.logins)
    identity = Authenticator(
        stores, auth_services.authentication.principal_of, auth_services.access_tokens.authenticate
    )
    if not organizations.roots:
        _found(settings, organizations)
    move_checkpoints(settings.folder / "checkpoints", organizations)
    home = organizations.open(_home(organizations))
    egress, vault = egress_of(settings), Vault(settings.vault_key)
    external_access = _build_external_access(home, egress(home), settings, vault)
    audit = AuditRecorder(stores, settings.audit, tasks)
    return Deployment(
        settings,
        lock,
        stores,
        organizations,
        auth_services,
        identity,
        audit,
        home,
        external_access,
        egress,
        vault,
        tasks,
    )


def _home(organizations: Organizations) -> ResourceId:
    """Return the id of the home organization: the first one. Organizations that are created later do not change it."""
    roots = organizations.roots
    return organizations.choose_home(ORGANIZATION if ORGANIZATION in roots else roots[0])


def _build_external_access(
    organization: Organization, egress: Egress, settings: Settings, vault: Vault
) -> ExternalAccessPolicy:
    return ExternalAccessPolicy(
        organization.id, organization.control, organization.store, settings.folder, vault, egress
    )


def _found(settings: Settings, organizations: Organizations) -> None:
    """Create the first organization and its owner, and write the owner's token to a file that only this user can read.

    Raises `StoreError` if the model of the settings cannot be used.
    """
    owner = PrincipalId(new_id("p"))
    founding = OrganizationSpec(ORGANIZATION, FIRST, owner, settings.owner, settings.model)
    try:
        first = create_organization(organizations, founding)
    except InvalidError as error:
        raise StoreError(
            f"the model of `HEADGATE_MODEL` cannot be used for the first organization: {error}; a file in the folder of "
            "`HEADGATE_MODELS` is installed first"
        ) from error
    token, secret = TokenId(new_id("t")), secrets.token_urlsafe(32)
    first.control.execute(IssueToken(token, secret, owner, "first owner"), None)
    replace_private_file(settings.owner_token, f"{format_token(token, secret)}\n".encode())
