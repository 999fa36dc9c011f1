"""Commands: each is a pure function of the snapshot, the caller, its arguments and the time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Protocol

from headgate.control.kernel.errors import AlreadyExistsError, CommandError, InvalidError, NotFoundError, missing_text
from headgate.control.kernel.ids import describe_id_fault
from headgate.control.kernel.names import describe_new_name_fault
from headgate.control.kernel.operations import OperationPlace, choose_action, list_operation_needs, list_places
from headgate.control.kernel.ports import DocumentPut, Pointer
from headgate.control.kernel.run_queue import RunUpdate
from headgate.decision.context import EvaluationContext, Models, model_for
from headgate.decision.effective_assignments import list_subjects
from headgate.decision.evaluator import Answers
from headgate.decision.explain.explain import explain
from headgate.decision.types import Decision, Explanation, Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NO_NAMES, Resource, Snapshot
from headgate.model.model import Model


class PermissionDeniedError(CommandError):
    """The caller lacks the privilege for this action."""

    def __init__(self, question: Question, view: "CommandContext") -> None:
        super().__init__(
            f"`{question.action}` on `{question.resource}` is not allowed; ask an owner or admin for a role "
            "that allows the action"
        )
        self.question = question
        self._view = view

    @cached_property
    def explanation(self) -> Explanation:
        """The reason, on the facts of the decision. Computed on first use, because it can be slow."""
        view = self._view
        return explain(view.models, view.facts, self.question, view.now, view.engine)


@dataclass(frozen=True, slots=True)
class CommandEffect:
    """The changes that an accepted command writes, and the decisions that allowed it, in order.

    The decisions are of the revision that the command was decided on; `explain` on those facts gives their reasons.
    """

    changes: tuple[Change, ...]
    documents: tuple[DocumentPut, ...] = ()
    pointers: tuple[Pointer, ...] = ()
    decisions: tuple[Decision, ...] = ()
    runs: tuple[RunUpdate, ...] = ()


_NO_PLACES: Mapping[str, tuple[ResourceId, ...]] = MappingProxyType({})
_NO_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The input of a command: facts, models, caller and time, and the checks of the caller's privileges.

    `caller` is None for the deployment itself, which needs no privilege. `decisions` collects the allowed questions. In a
    preview the command is decided and not executed.
    """

    engine: Answers
    caller: Caller | None
    now: float
    decisions: list[Decision] = field(default_factory=list[Decision])
    is_preview: bool = False

    @property
    def facts(self) -> Snapshot:
        """The facts on which the command is decided."""
        return self.engine.facts

    @property
    def models(self) -> Models:
        """The models in force, by name."""
        return self.engine.models

    @property
    def model(self) -> Model:
        """The home model."""
        return self.models[self.facts.model]

    @property
    def root(self) -> ResourceId:
        """The root resource: the organization itself. Raises `NotFoundError` if the organization is not created yet."""
        if self.facts.organization is None:
            raise NotFoundError(
                "the organization has not been created yet; ask the operator of this deployment to create "
                "it with `headgate organization create`"
            )
        return self.facts.organization

    @property
    def actor(self) -> PrincipalId | None:
        """The principal that the log and the facts name as the actor; None for the deployment itself."""
        return self.caller.principal if self.caller else None

    def with_changes(self, *changes: Change) -> "CommandContext":
        """Return the context after these changes; questions that it allows are collected in `decisions` too."""
        facts = fold(self.facts, changes, self.facts.revision)
        return replace(self, engine=self.engine.advance(changes, facts))

    @property
    def acting_team(self) -> ResourceId | None:
        """The team in which the caller acts, if its token names one of which it is still a member; else None."""
        token = self.facts.tokens.get(self.caller.token) if self.caller and self.caller.token else None
        team = self.facts.resources.get(token.acts_in) if token and token.acts_in else None
        return team.id if token and team and self.is_member(token.principal, team) else None

    def is_member(self, principal: PrincipalId, team: Resource) -> bool:
        """Whether a principal gets the assignments of a resource as a member, under the model that decides on the resource.

        A group is none: it has members under every model, and no token acts in it.
        """
        model = model_for(self.models, self.facts, team.type, team.id)
        if model is None or team.type not in model.members:
            return False
        asked = EvaluationContext(self.models, self.facts, Question(Caller(principal), "", team.id), self.now)
        return team.id != principal and team.id in list_subjects(asked, model, principal)

    def model_for(self, type: str, place: ResourceId) -> Model:
        """Return the model that decides on a type at a place. Raises `InvalidError` if no model in force there has the type."""
        found = model_for(self.models, self.facts, type, place)
        if found is None:
            raise InvalidError(
                f"the access models in force at the chosen resource or parent do not have the type `{type}`; choose another type, or "
                "another resource or parent"
            )
        return found

    def require(self, question: Question) -> None:
        """Raise `PermissionDeniedError` unless it is allowed, or `NotFoundError` if the caller may not discover the resource."""
        decision = self.engine.check(question, self.now)
        if decision.allowed:
            self.decisions.append(decision)
            return
        found = self.facts.resources.get(question.resource)
        if found is None or not self._is_visible(found):
            raise _build_missing_error(question.resource)
        raise PermissionDeniedError(question, self)

    def require_action(
        self,
        action: str,
        resource: ResourceId,
        *,
        on: Mapping[str, tuple[ResourceId, ...]] = _NO_PLACES,
        given: Mapping[str, tuple[str, ...]] = _NO_WORDS,
        role: str | None = None,
        subject: SubjectId | None = None,
        new_role: str | None = None,
    ) -> None:
        """Require that the caller may do the action; the deployment itself may do everything."""
        if self.caller is not None:
            self.require(Question(self.caller, action, resource, on, role, subject, new_role, given))

    def require_operation(
        self, operation: str, places: Mapping[str, Resource | OperationPlace], /, **words: str
    ) -> None:
        """Require every action that the operation needs on its places, in the order in which they are listed.

        The model that decides on the first place may restate what `headgate/model/operations.yaml` lists. `words` are the values
        of the texts in braces.
        """
        named = {
            word: each if isinstance(each, OperationPlace) else OperationPlace(each) for word, each in places.items()
        }
        first = self._find_model(named[list_places(operation)[0]].resource)
        for need in list_operation_needs(operation, first):
            place = named[need.place]
            self.require_action(
                choose_action(need, place.resource.type, self._find_model(place.resource), words),
                place.resource.id,
                on=place.on,
                given=place.given,
                role=place.about.role,
                subject=place.about.subject,
                new_role=place.about.new_role,
            )

    def _find_model(self, resource: Resource) -> Model | None:
        return model_for(self.models, self.facts, resource.type, resource.id)

    def target(self, id: ResourceId, *types: str) -> Resource:
        """Return the resource that the command is about, without a check whether the caller may discover it.

        The command's question on the resource makes that check. Raises `NotFoundError` if there is no resource of these
        types with this id.
        """
        found = self.facts.resources.get(id)
        if found is None or (types and found.type not in types):
            raise _build_missing_error(id)
        return found

    def resource(self, id: ResourceId, *types: str) -> Resource:
        """Return a resource of one of the types. Raises `NotFoundError` if it is missing or the caller may not discover it."""
        found = self.target(id, *types)
        if not self._is_visible(found):
            raise _build_missing_error(id)
        return found

    def _is_visible(self, resource: Resource) -> bool:
        # Every caller may know the deployment, its organization, and the projects of that.
        if self.caller is None or resource.type in ("deployment", "organization", "project"):
            return True
        return self.engine.is_discoverable(self.caller, resource.id, self.now)

    def require_principal(self, id: PrincipalId) -> None:
        """Raise `NotFoundError` unless there is such a principal."""
        if id not in self.facts.principals:
            raise NotFoundError(f"there is no principal with the id `{id}`; check the id")

    def require_visible_subject(self, id: SubjectId) -> None:
        """Raise `NotFoundError` unless the id is a principal, a group, or a resource that the caller may discover."""
        if id not in self.facts.principals and id not in self.facts.groups:
            self.resource(ResourceId(id))

    def free_id(self, id: str) -> None:
        """Raise `AlreadyExistsError` if the id is in use or referred to: a new object would get what was assigned to the old one."""
        facts = self.facts
        kinds = (facts.resources, facts.principals, facts.groups, facts.tokens, facts.runs, facts.requests)
        # Groups and the like are children of the organization under their id; no other child has that id as its name.
        named = facts.children.get(facts.organization, ()) if facts.organization else ()
        if any(id in kind for kind in (*kinds, facts.referrers, named)):
            raise AlreadyExistsError(f"the id `{id}` is in use; choose another id")

    def new_name(self, id: ResourceId, parent: ResourceId, name: str) -> None:
        """Raise `InvalidError` for an invalid name, `AlreadyExistsError` if the parent has a child of that name.

        Requests accept an id or a name in the same field, and an id takes precedence. So no resource may have the id of
        another one as its name. Tables may, because they are named together with their database.
        """
        require_new_name(name)
        if name != id:
            self._require_no_id(parent, name)
        self.free_name(parent, name)

    def _require_no_id(self, parent: ResourceId, name: str) -> None:
        fault = describe_id_fault(name)
        if fault is not None and self.facts.resources[parent].type != "database":
            raise InvalidError(f"`{name}` cannot be a name: {fault}")
        if parent == self.facts.organization and name in self.facts.resources:
            raise AlreadyExistsError(f"`{name}` is the id of another resource; choose another name")

    def free_name(self, parent: ResourceId, name: str) -> None:
        """Raise `AlreadyExistsError` if the parent has a child of that name.

        A preview costs nothing and leaves no trace, so it does not reveal a child that the caller may not discover. A
        command that is executed cannot succeed and raises the error; the audit records that.
        """
        taken = self.facts.children.get(parent, NO_NAMES).get(name)
        if taken is None:
            return
        is_hidden = not self._is_visible(self.facts.resources[taken])
        if not (is_hidden and self.is_preview):
            raise AlreadyExistsError(f"`{name}` exists already; choose another name", is_hidden=is_hidden)


def require_new_name(name: str) -> None:
    """Raise `InvalidError` for an invalid name. The check does not depend on the existing names."""
    fault = describe_new_name_fault(name)
    if fault is not None:
        raise InvalidError(f"`{name}` cannot be a name: {fault}")


def resolve_role_model(view: CommandContext, role: str, place: Resource, named: str | None = None) -> str:
    """Return the name of the role's model: the one that decides on the resource, or the one that the deployment names.

    Raises `InvalidError` if the model does not have the role.
    """
    model = view.model_for(place.type, place.id)
    if named not in (None, model.name):
        if view.caller is not None or named not in view.models:
            raise InvalidError(
                f"roles on this resource belong to the access model `{model.name}`, not to `{named}`; use a role of `{model.name}`"
            )
        model = view.models[named]
    if role not in model.roles and not (model.custom_roles and role in view.facts.custom_roles):
        names = ", ".join(sorted(each.name for each in model.roles.values() if place.type in each.on))
        raise InvalidError(
            f"the access model `{model.name}` has no role `{role}`; its roles on this resource are {names or 'none'}"
        )
    return model.name


def _build_missing_error(id: ResourceId) -> NotFoundError:
    # One text for a resource that is hidden, missing or of another type.
    return NotFoundError(missing_text(id))


class Command(Protocol):
    """A command: decided on a snapshot, it returns the changes to write or raises a `CommandError`."""

    @property
    def name(self) -> str:
        """The command's name in the log."""
        ...

    def decide(self, view: CommandContext) -> CommandEffect:
        """Return the changes. Uses no clock, no I/O and no randomness: ids are arguments."""
        ...


def evaluate(command: Command, view: CommandContext) -> CommandEffect:
    """Decide a command: return its changes and the decisions that allowed it, or raise a `CommandError`."""
    plan = command.decide(view)
    return replace(plan, decisions=tuple(view.decisions))
