"""Import of an organization from another deployment: registers it and its users, after its log was written to the store."""

from headgate.control.authentication.users import UserAccounts
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.control.organizations.organization import Organization, Organizations
from headgate.control.resources.commands import CreateResource
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import SUSPENDED, Snapshot


def require_importable(organizations: Organizations, root: ResourceId, title: str) -> None:
    """Raise a `CommandError` if the deployment has an organization, or another resource, with this id or name already."""
    if root in organizations.stores.logs():
        if root not in organizations.names_by_id:
            raise AlreadyExistsError(
                f"the organization `{root}` was removed, and its id cannot be used again in this deployment; import the file "
                "into another deployment"
            )
        raise AlreadyExistsError(
            f"the organization `{root}` exists already in this deployment; import the file into another deployment"
        )
    if any(root in each.control.snapshot.resources for each in organizations.list_all()):
        # Earlier versions stored the files of a database in a folder with its id, so ids may not repeat.
        raise AlreadyExistsError(
            f"the id `{root}` of the organization is in use by a resource of another organization; import the file into "
            "another deployment"
        )
    organizations.deployment.control.preview(_build_listing(root, title), None)


def register_imported(organizations: Organizations, logins: UserAccounts, facts: Snapshot, title: str) -> Organization:
    """Register the organization of these facts, whose log is in the store, in the deployment; return it opened.

    Its users become users of the deployment. Each gets their name as login name, without a password, if the name is free.
    Raises a `CommandError` if the name of the organization is taken.
    """
    root = facts.organization or DEPLOYMENT
    organization = organizations.open(root)
    control = organizations.deployment.control
    control.execute(_build_listing(root, title, is_suspended=facts.is_suspended), None)
    known = control.snapshot.principals
    for id in sorted(id for id, each in facts.principals.items() if each.kind == "user" and id not in known):
        _register(logins, id, organization.directory.name(id))
    return organization


def _register(logins: UserAccounts, id: PrincipalId, person: str) -> None:
    try:
        logins.register(person, login=person, principal=id)
    except (InvalidError, AlreadyExistsError):
        logins.register(person, principal=id)


def _build_listing(root: ResourceId, title: str, *, is_suspended: bool = False) -> CreateResource:
    attributes = {SUSPENDED: ("true",)} if is_suspended else dict[str, tuple[str, ...]]()
    return CreateResource(root, "organization", DEPLOYMENT, title, attributes=attributes)
