"""Creating an organization: its own log begins, as the deployment says."""

from dataclasses import dataclass, field

from headgate.control.access.last_owner import owner_roles
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError
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
    """The organization under its home model, what that puts implicitly below it, the group of everybody, and who owns it.

    Who makes one asks in the deployment's log for the resource below that (`deployment.create_organization`); this is
    what follows in the organization's own log. `tree` names the model of the ownership tree, where there is one.
    """

    owner: PrincipalId
    owner_name: str
    model: str
    tree: str | None = None
    organization: ResourceId = ORGANIZATION
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])
    name: str = "organization.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment begins a log, and only once."""
        _begins(view)
        model = _in_force(view, self.model)
        return CommandEffect(
            changes=(
                OrganizationCreated(self.organization, model.name, model.hash),
                *self._describe(view),
                GroupCreated(ALL_USERS_GROUP, built_in=True),
                *implicit_children(model, self.organization, "organization"),
                PrincipalAdded(self.owner, "user"),
                RoleAssigned(self.owner, founder_role(model), self.organization, model.name),
            ),
            documents=(DocumentPut("principal", self.owner, {"name": self.owner_name}),),
        )

    def _describe(self, view: CommandContext) -> tuple[Change, ...]:
        described = (AttributesSet(self.organization, self.attributes),) if self.attributes else ()
        if self.tree is None:
            return described
        tree = _in_force(view, self.tree)
        return (*described, GovernedBy(self.organization, tree.name, tree.hash))


@dataclass(frozen=True, slots=True)
class CreateDeployment:
    """The deployment's own log: its people, and below it the organizations, which have logs of their own."""

    model: str
    deployment: ResourceId = DEPLOYMENT
    name: str = "deployment.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment begins a log, and only once."""
        _begins(view)
        model = _in_force(view, self.model)
        return CommandEffect((OrganizationCreated(self.deployment, model.name, model.hash, "deployment"),))


@dataclass(frozen=True, slots=True)
class GovernDeployment:
    """An access model decides on the deployment itself, where its home model says nothing about that."""

    model: Model
    name: str = "deployment.govern"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment itself, once; a home model that knows the type `deployment` goes on deciding."""
        if view.caller is not None:
            raise InvalidError("the deployment puts its own access model in force, not a principal")
        if governs_deployment(view.facts, view.model):
            raise AlreadyExistsError("an access model decides on the deployment already")
        return CommandEffect((GovernedBy(view.root, self.model.name, self.model.hash),))


@dataclass(frozen=True, slots=True)
class GovernProject:
    """Another access model decides in a project from now on. What was assigned under the former means nothing meanwhile."""

    project: ResourceId
    model: str
    name: str = "project.govern"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment says which model is in force where."""
        if view.caller is not None:
            raise InvalidError("the deployment says which access model is in force in a project")
        project, model = view.target(self.project, "project"), _in_force(view, self.model)
        there = {view.facts.resources[id].type for id in view.facts.children[project.id].values()}
        missing = (
            each
            for each in implicit_children(model, project.id, project.type)
            if each.parent != project.id or each.type not in there
        )
        return CommandEffect((GovernedBy(project.id, model.name, model.hash), *missing))


def governs_deployment(facts: Snapshot, home: Model) -> bool:
    """Return whether an access model decides on the deployment: its home model, or one that is in force beside it."""
    return facts.organization in facts.governs or DEPLOYMENT in home.types


def _begins(view: CommandContext) -> None:
    if view.caller is not None:
        raise InvalidError("a log is begun by the deployment, not by a principal")
    if view.facts.organization is not None:
        raise AlreadyExistsError("this log has begun already; there is an organization")


def _in_force(view: CommandContext, name: str) -> Model:
    if name not in view.models:
        raise InvalidError(f"there is no access model `{name}` in force; there are {', '.join(sorted(view.models))}")
    return view.models[name]


def founder_role(model: Model) -> str:
    """Return the role of who makes an organization: what the model gives to makers, else the weakest that rules it."""
    made = [creator.role for creator in model.creators if "organization" in creator.types]
    roles = (*made, *owner_roles(model))
    if not roles:
        raise InvalidError(f"the access model `{model.name}` has no role that could begin an organization")
    return roles[0]
