"""An organization that came from another deployment: its log is here, and the deployment gets to know it and its people."""

from headgate.control.command import TakenError
from headgate.control.logins.commands import RegisterUser
from headgate.control.organization import Organization, Organizations
from headgate.control.organizations import DEPLOYMENT
from headgate.control.resources import CreateResource
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


def adoptable(organizations: Organizations, root: ResourceId, title: str) -> None:
    """Raise a `CommandError` if the deployment has something under this id or name already."""
    if root == DEPLOYMENT or root in organizations.stores.logs():
        raise TakenError(f"there is an organization `{root}` already")
    organizations.deployment.control.preview(_known(root, title), None)


def adopt(organizations: Organizations, facts: Snapshot, title: str) -> Organization:
    """Make the organization of these facts, whose log is here, one of the deployment; return it opened.

    Its users become users of the deployment who cannot log in yet. Raises a `CommandError` if there is one so called.
    """
    root = facts.organization or DEPLOYMENT
    organization = organizations.open(root)
    control = organizations.deployment.control
    control.execute(_known(root, title), None)
    known = control.snapshot.principals
    for id in sorted(id for id, each in facts.principals.items() if each.kind == "user" and id not in known):
        control.execute(RegisterUser(id, organization.directory.name(id)), None)
    return organization


def _known(root: ResourceId, title: str) -> CreateResource:
    return CreateResource(root, "organization", DEPLOYMENT, title)
