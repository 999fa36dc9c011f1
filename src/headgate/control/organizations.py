"""Creating the organization: a command of the deployment."""

from dataclasses import dataclass

from headgate.control.command import InvalidError, Plan, TakenError, View
from headgate.control.ports import DocumentPut
from headgate.facts.changes import (
    GroupCreated,
    OrganizationCreated,
    PrincipalAdded,
    ResourceCreated,
    RoleAssigned,
)
from headgate.facts.ids import GroupId, PrincipalId, ResourceId

ORGANIZATION = ResourceId("organization")
EVERYBODY = GroupId("All")
LAKE_NAME = "lake"


@dataclass(frozen=True, slots=True)
class CreateOrganization:
    """The organization, its default project and lake, the group of everybody, and its first owner."""

    owner: PrincipalId
    owner_name: str
    project: ResourceId
    lake: ResourceId
    name: str = "organization.create"

    def plan(self, view: View) -> Plan:
        """Only the deployment creates an organization, and only once."""
        if view.caller is not None:
            raise InvalidError("an organization is created by the deployment, not by a principal")
        if view.facts.organization is not None:
            raise TakenError("there is an organization already")
        model = view.model
        return Plan(
            changes=(
                OrganizationCreated(ORGANIZATION, model.name, model.hash),
                GroupCreated(EVERYBODY, built_in=True),
                ResourceCreated(self.project, "project", ORGANIZATION, "default"),
                ResourceCreated(self.lake, "lake", self.project, LAKE_NAME),
                PrincipalAdded(self.owner, "user"),
                RoleAssigned(self.owner, "owner", ORGANIZATION, model.name),
            ),
            documents=(DocumentPut("principal", self.owner, {"name": self.owner_name}),),
        )
