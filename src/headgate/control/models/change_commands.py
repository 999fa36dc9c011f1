"""Commands that put another model, or another version of a model, in force in an organization, in its own log.

Only the deployment itself executes them: the right of an operator is decided in the deployment's log (`AuthorizeModelChange`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from headgate.control.access.last_owner import is_permanent, owner_roles
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.kernel.metadata import ChangedError
from headgate.control.resources.implicit import implicit_children
from headgate.decision.tree import subject_kind
from headgate.facts.changes import (
    Change,
    GovernedBy,
    HomeModelChanged,
    ModelUpgraded,
    ResourceCreated,
    RoleAssigned,
    RoleRevoked,
)
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import Assignment, Resource, Snapshot
from headgate.model.model import Model

CHANGE_MODEL = "deployment.change_model"


@dataclass(frozen=True, slots=True)
class AuthorizeModelChange:
    """In the log of the deployment: let the caller change the models of an organization. The entry names the operator.

    `model` is the name of the model that is to decide, None if it is not known yet.
    """

    organization: ResourceId
    model: str | None = None
    name: str = "organization.change_model"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `deployment.change_model`, that the organization is listed, and that the model was not removed."""
        view.require_action(CHANGE_MODEL, view.root)
        view.target(self.organization, "organization")
        known = None if self.model is None else view.facts.installed_models.get(self.model)
        if known is not None and known.is_removed:
            raise InvalidError(
                f"the access model `{self.model}` is not installed any more; choose another model, or install it again with "
                "`headgate model install`"
            )
        return CommandEffect(())


@dataclass(frozen=True, slots=True)
class UpgradeModel:
    """Change the version of a model that decides, wherever the model decides. Has no effect if this version decides already.

    `previewed` is the revision on which the effects were shown; None if none were.
    """

    model: Model
    previewed: int | None = None
    name: str = "model.upgrade"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment itself does it, and that the model is in force."""
        _require_deployment(view, self.previewed)
        if self.model.name not in view.facts.models_in_force:
            raise NotFoundError(
                f"the access model `{self.model.name}` does not decide in the organization; choose one that does: "
                f"{', '.join(f'`{each}`' for each in sorted(view.facts.models_in_force))}"
            )
        if view.facts.model_hashes[self.model.name] == self.model.hash:
            return CommandEffect(())
        children = _create_children(view.facts, self.model, self.model.name)
        changes = (ModelUpgraded(self.model.name, self.model.hash), *children)
        if self.model.name == view.facts.model:
            _require_owner(view, self.model, changes)
        return CommandEffect(changes)


@dataclass(frozen=True, slots=True)
class ChangeHomeModel:
    """Make another model the home model. Resources that it creates with their parents are created.

    An assignment on what the home model governs is kept under the new model if that has a role of the same name for the resource
    and the subject; the others have no effect until their model is in force again. The owners get an owner role of the new
    model in place of their former one.
    """

    model: Model
    previewed: int | None = None
    name: str = "model.change"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment itself does it, that the model is another one, and that an owner remains."""
        _require_deployment(view, self.previewed)
        if self.model.name == view.facts.model:
            raise AlreadyExistsError(
                f"the access model `{self.model.name}` is the home model already; upgrade it instead"
            )
        children = _create_children(view.facts, self.model, view.facts.model)
        owners = tuple(_make_owners(view, self.model))
        kept = tuple(each for each in _keep_assignments(view.facts, self.model) if each not in owners)
        changed: Change = HomeModelChanged(self.model.name, self.model.hash)
        changes = (changed, *children, *kept, *owners)
        _require_owner(view, self.model, changes)
        return CommandEffect(changes)


@dataclass(frozen=True, slots=True)
class GovernProject:
    """Change the access model that is in force in a project.

    Assignments under the former model have no effect until that model is in force again.
    """

    project: ResourceId
    model: Model
    previewed: int | None = None
    name: str = "project.govern"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment itself does it."""
        _require_deployment(view, self.previewed)
        project = view.target(self.project, "project")
        governed = GovernedBy(project.id, self.model.name, self.model.hash)
        is_governed = view.facts.governs.get(project.id) == self.model.name
        is_same = is_governed and view.facts.model_hashes[self.model.name] == self.model.hash
        changed = () if is_same else (governed,)
        return CommandEffect((*changed, *missing_children(view.facts, self.model, project)))


def missing_children(facts: Snapshot, model: Model, place: Resource) -> tuple[ResourceCreated, ...]:
    """Return the implicit children that a model creates with a resource, and that it lacks.

    Raises `AlreadyExistsError` if another resource has the name of one.
    """
    names = facts.children[place.id]
    there = {facts.resources[id].type for id in names.values()}
    missing = [
        each
        for each in implicit_children(model, place.id, place.type)
        if each.parent != place.id or each.type not in there
    ]
    known = {place.id, *(each.resource for each in missing)}
    missing = [each for each in missing if each.parent in known and each.resource not in facts.resources]
    if taken := [each.name for each in missing if each.parent == place.id and each.name in names]:
        raise AlreadyExistsError(
            f"the {place.type} contains `{taken[0]}`, and the access model creates a resource with this name; rename the present "
            "one first"
        )
    return tuple(missing)


def _create_children(facts: Snapshot, model: Model, governing: str) -> tuple[ResourceCreated, ...]:
    """Return the implicit children that the resources lack under the model, where the model `governing` governs now."""
    governed = (each for each in facts.resources.values() if facts.find_governing_models(each.id)[0] == governing)
    return tuple(child for place in governed for child in missing_children(facts, model, place))


def _require_deployment(view: CommandContext, previewed: int | None) -> None:
    if view.caller is not None:
        raise InvalidError(
            "the access models of an organization are chosen by the operators of the deployment; ask one of them to run "
            "`headgate model upgrade` or `headgate organization set-model`"
        )
    if previewed is not None and previewed != view.facts.revision:
        raise ChangedError("the organization has changed since the effects were computed; retry the request")


def _keep_assignments(facts: Snapshot, model: Model) -> Iterator[RoleAssigned]:
    """Yield the assignments of the former home model that the new one has a role for, as assignments of the new one.

    Assignments in a project that has a model of its own stay, because its model stays.
    """
    for subject, held in facts.assignments.items():
        for given in held.values():
            ours = given.model == facts.model and _is_under_home(facts, given.resource)
            if ours and _is_assignable(facts, model, given.role, given.resource, subject):
                yield _build_assignment(replace(given, model=model.name))


def _is_under_home(facts: Snapshot, place: ResourceId) -> bool:
    """Whether the home model governs a resource: no project above it has a model of its own."""
    if place not in facts.resources:
        return False
    line = (place, *(each.id for each in facts.ancestors(place)))
    return not any(id in facts.governs for id in line if id != facts.organization)


def _make_owners(view: CommandContext, model: Model) -> Iterator[RoleAssigned | RoleRevoked]:
    """Yield the changes that give the permanent owners an owner role of the new model in place of their former role."""
    facts, role = view.facts, _owner_role(model)
    former = owner_roles(view.model, facts.resources[view.root].type)
    for given in facts.list_assigned_on(view.root):
        owns = given.role in former and is_permanent(view, given, view.model)
        if owns and role is not None and _is_assignable(facts, model, role, view.root, given.subject):
            if given.role != role:
                yield RoleRevoked(given.subject, given.role, view.root, given.reason)
            yield RoleAssigned(given.subject, role, view.root, model.name, given.grantor)


def _owner_role(model: Model) -> str | None:
    """Return the owner role that the owners get: that of the creator of an organization, if it is one."""
    owning = owner_roles(model)
    made = [creator.role for creator in model.creators if "organization" in creator.types]
    return next((role for role in (*made, *owning) if role in owning), None)


def _require_owner(view: CommandContext, model: Model, changes: Iterable[Change]) -> None:
    """Raise `InvalidError` if the organization has a permanent owner now and has none under the model after the changes."""
    facts = fold(view.facts, changes, view.facts.revision)
    now, then = owner_roles(view.model), owner_roles(model)
    had = any(
        each.role in now and is_permanent(view, each, view.model) for each in view.facts.list_assigned_on(view.root)
    )
    if had and not any(
        each.role in then and is_permanent(view, each, model) for each in facts.list_assigned_on(view.root)
    ):
        roles = ", ".join(f"`{each}`" for each in then)
        raise InvalidError(
            f"no user would be an owner under the access model `{model.name}`, whose owner roles are {roles}; give one of them the "
            "name of a role that the owners hold, or let it be assigned to users on the organization"
            if then
            else f"the access model `{model.name}` has no owner role: no role can assign every role on the organization; add the missing "
            "rules to its section `assign`"
        )


def _is_assignable(facts: Snapshot, model: Model, role: str, place: ResourceId, subject: SubjectId) -> bool:
    known, resource = model.roles.get(role), facts.resources.get(place)
    if known is None or resource is None:
        return False
    return resource.type in known.on and subject_kind(facts, subject) in known.to


def _build_assignment(given: Assignment) -> RoleAssigned:
    return RoleAssigned(
        given.subject, given.role, given.resource, given.model, given.grantor, given.ends, given.starts, given.reason
    )
