"""Removing an organization from the deployment: its log stays, for the auditor and for an export."""

from dataclasses import dataclass

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.organizations.organization import Organizations
from headgate.facts.changes import ResourceDeleted
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class RemoveOrganization:
    """The deployment has the organization no more: its name is free again, its id is not. Of the deployment's log.

    Its own log ends by `EndOrganization`, which comes first: no caller is left in an organization that is not listed.
    """

    organization: ResourceId
    name: str = "organization.remove"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `deployment.remove_organization`."""
        view.require_action("deployment.remove_organization", view.root)
        found = view.target(self.organization, "organization")
        return CommandEffect((ResourceDeleted(found.id),))


def require_removable(organizations: Organizations, id: ResourceId) -> None:
    """Raise `InvalidError` for the home organization: its owner's token and its Spark driver are those of the deployment."""
    if id == organizations.home:
        raise InvalidError(
            f"`{organizations.names_by_id.get(id, id)}` is the home organization of this deployment and cannot be removed; suspend it instead"
        )
