"""Commands that begin the log of an organization or of the deployment, and put access models in force."""

from dataclasses import dataclass, field

from headgate.control.access.last_owner import owner_roles
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError
from headgate.control.kernel.model_source import SourcedModel
from headgate.control.kernel.ports import DocumentPut
from headgate.control.resources.implicit import implicit_children
from headgate.facts.changes import (
    Attributes,
    AttributesSet,
    Change,
    GovernedBy,
    GroupCreated,
    OrganizationCreated,
    PrincipalAdded,
    RoleAssigned,
)
from headgate.facts.ids import GroupId, PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model

DEPLOYMENT, ORGANIZATION = ResourceId("deployment"), ResourceId("organization")
ALL_USERS_GROUP = GroupId("All")


@dataclass(frozen=True, slots=True)
class CreateOrganization:
    """Create the organization under its home model, with its implicit resources, the group of all users, and its owner.

    The caller's privilege (`deployment.create_organization`) is checked in the deployment's log, when the organization is
    created there; this command follows in the organization's own log. `tree` is the model of the ownership tree, if any.
    """

    owner: PrincipalId
    owner_name: str
    model: Model
    tree: Model | None = None
    organization: ResourceId = ORGANIZATION
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])
    name: str = "organization.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment itself begins the log, and that it is empty."""
        _begins(view)
        model = self.model
        return CommandEffect(
            changes=(
                OrganizationCreated(self.organization, model.name, model.hash),
                *self._describe(),
                GroupCreated(ALL_USERS_GROUP, built_in=True),
                *implicit_children(model, self.organization, "organization"),
                PrincipalAdded(self.owner, "user"),
                RoleAssigned(self.owner, founder_role(model), self.organization, model.name),
            ),
            documents=(DocumentPut("principal", self.owner, {"name": self.owner_name}),),
        )

    def _describe(self) -> tuple[Change, ...]:
        described = (AttributesSet(self.organization, self.attributes),) if self.attributes else ()
        if self.tree is None:
            return described
        return (*described, GovernedBy(self.organization, self.tree.name, self.tree.hash))


@dataclass(frozen=True, slots=True)
class CreateDeployment:
    """Create the deployment's own log: its users, and below it the organizations, which have their own logs."""

    model: SourcedModel
    deployment: ResourceId = DEPLOYMENT
    name: str = "deployment.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment itself begins the log, and that it is empty."""
        _begins(view)
        created = OrganizationCreated(self.deployment, self.model.model.name, self.model.model.hash, "deployment")
        return CommandEffect((created,), (self.model.document,))


@dataclass(frozen=True, slots=True)
class GovernDeployment:
    """Add the access model that decides on the deployment itself, if its home model does not have the type `deployment`."""

    model: SourcedModel
    name: str = "deployment.govern"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment itself does it, once. A home model with the type `deployment` stays in force."""
        if view.caller is not None:
            raise InvalidError(
                "the access model of the deployment is set when the server starts; ask the operator of this "
                "deployment to change it"
            )
        if governs_deployment(view.facts, view.model):
            raise AlreadyExistsError(
                "the deployment has an access model already and cannot get another one; leave it as it is"
            )
        governed = GovernedBy(view.root, self.model.model.name, self.model.model.hash)
        return CommandEffect((governed,), (self.model.document,))


def governs_deployment(facts: Snapshot, home: Model) -> bool:
    """Return whether an access model decides on the deployment: its home model, or one that is in force beside it."""
    return facts.organization in facts.governs or DEPLOYMENT in home.types


def _begins(view: CommandContext) -> None:
    if view.caller is not None:
        raise InvalidError(
            "an organization is created on the server's machine; ask the operator of this deployment to run `headgate "
            "organization create`"
        )
    if view.facts.organization is not None:
        raise AlreadyExistsError(
            f"the organization `{view.facts.organization}` exists already; use it, or create one with another id"
        )


def founder_role(model: Model) -> str:
    """Return the role of an organization's creator: the model's role for creators, otherwise its weakest owner role."""
    made = [creator.role for creator in model.creators if "organization" in creator.types]
    owning = owner_roles(model)
    if not owning:
        raise InvalidError(
            f"the access model `{model.name}` has no owner role, so no organization can use it: no role can assign every role on "
            "the organization; choose another model, or add the missing rules to its section `assign`"
        )
    return (*made, *owning)[0]
