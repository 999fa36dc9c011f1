"""Removal of an organization from the deployment. Its log stays, for audits and for an export."""

from dataclasses import dataclass

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.organizations.organization import Organizations
from headgate.facts.changes import ResourceDeleted
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class RemoveOrganization:
    """Remove the organization from the deployment's log. Its name can be used again, its id cannot.

    `EndOrganization` in its own log must come first, so that no caller is left in an organization that is not listed.
    """

    organization: ResourceId
    name: str = "organization.remove"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `deployment.remove_organization`."""
        view.require_action("deployment.remove_organization", view.root)
        found = view.target(self.organization, "organization")
        return CommandEffect((ResourceDeleted(found.id),))


def require_removable(organizations: Organizations, id: ResourceId) -> None:
    """Raise `InvalidError` for the home organization: its owner's token and its Spark driver are those of the deployment."""
    if id == organizations.home:
        raise InvalidError(
            f"`{organizations.names_by_id.get(id, id)}` is the home organization of this deployment and cannot be removed; suspend it instead"
        )
