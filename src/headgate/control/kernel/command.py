"""What a command is: a pure function of the snapshot, the caller, its arguments and the time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Protocol

from headgate.control.kernel.errors import AlreadyExistsError, CommandError, InvalidError, NotFoundError
from headgate.control.kernel.ids import describe_id_fault
from headgate.control.kernel.names import describe_new_name_fault
from headgate.control.kernel.ports import DocumentPut, Pointer
from headgate.control.kernel.run_queue import RunUpdate
from headgate.decision.context import Models, model_for
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
    """The caller may not do this."""

    def __init__(self, question: Question, view: "CommandContext") -> None:
        super().__init__(f"{question.action} on {question.resource} was refused")
        self.question = question
        self._view = view

    @cached_property
    def explanation(self) -> Explanation:
        """Why not, on the facts that it was decided on. Worked out when somebody wants to know: it can take a while."""
        view = self._view
        return explain(view.models, view.facts, self.question, view.now, view.engine)


@dataclass(frozen=True, slots=True)
class CommandEffect:
    """What an accepted command writes, and what was asked and allowed for it, in order.

    The decisions are of the revision that the command was decided on; `explain` on those facts says why.
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
    """What a command may look at, and the way to ask. `caller` is None for the deployment itself, which is not asked.

    `decisions` gathers what was allowed. A preview is of a command that is not carried out.
    """

    engine: Answers
    caller: Caller | None
    now: float
    decisions: list[Decision] = field(default_factory=list[Decision])
    is_preview: bool = False

    @property
    def facts(self) -> Snapshot:
        """The facts that the command is decided on."""
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
        """The organization's own resource. Raises `NotFoundError` if there is no organization yet."""
        if self.facts.organization is None:
            raise NotFoundError("there is no organization yet")
        return self.facts.organization

    @property
    def actor(self) -> PrincipalId | None:
        """Who is named in the log and in the facts; None for the deployment itself."""
        return self.caller.principal if self.caller else None

    def with_changes(self, *changes: Change) -> "CommandContext":
        """Return the view that there would be after these changes; what it allows is gathered here too."""
        facts = fold(self.facts, changes, self.facts.revision)
        return replace(self, engine=self.engine.advance(changes, facts))

    def model_for(self, type: str, place: ResourceId) -> Model:
        """Return the model that decides on a type at a place. Raises `InvalidError` if none in force knows it there."""
        found = model_for(self.models, self.facts, type, place)
        if found is None:
            raise InvalidError(f"no access model that is in force there knows the type `{type}`")
        return found

    def action(self, resource: Resource, *verbs: str) -> str:
        """Return the action of the first of these verbs that the model knows on the resource; of the first if none."""
        model = self.model_for(resource.type, resource.id)
        actions = [f"{resource.type}.{verb}" for verb in verbs]
        return next((each for each in actions if model_has_action(model, each)), actions[0])

    def require(self, question: Question) -> None:
        """Raise `PermissionDeniedError` unless it is allowed; `NotFoundError` if it is about what the caller may not discover."""
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
        """Require this of the caller; what the deployment itself states holds without."""
        if self.caller is not None:
            self.require(Question(self.caller, action, resource, on, role, subject, new_role, given))

    def target(self, id: ResourceId, *types: str) -> Resource:
        """Return the resource that the command is about; whether the caller may know of it, the question on it says.

        Raises `NotFoundError` if there is none of these types.
        """
        found = self.facts.resources.get(id)
        if found is None or (types and found.type not in types):
            raise _build_missing_error(id)
        return found

    def resource(self, id: ResourceId, *types: str) -> Resource:
        """Return a resource of one of the types; one that the caller may not discover is as missing."""
        found = self.target(id, *types)
        if not self._is_visible(found):
            raise _build_missing_error(id)
        return found

    def _is_visible(self, resource: Resource) -> bool:
        # Everybody knows where they are, and in an organization its projects.
        if self.caller is None or resource.type in ("deployment", "organization", "project"):
            return True
        return self.engine.is_discoverable(self.caller, resource.id, self.now)

    def require_principal(self, id: PrincipalId) -> None:
        """Raise `NotFoundError` unless there is such a principal."""
        if id not in self.facts.principals:
            raise NotFoundError(f"there is no principal `{id}`")

    def require_visible_subject(self, id: SubjectId) -> None:
        """Raise `NotFoundError` unless this can be assigned something: a principal, group or resource that is seen."""
        if id not in self.facts.principals and id not in self.facts.groups:
            self.resource(ResourceId(id))

    def free_id(self, id: str) -> None:
        """Raise `AlreadyExistsError` if anything has this id, or is tied to it: what was meant for that is not for a newcomer."""
        facts = self.facts
        kinds = (facts.resources, facts.principals, facts.groups, facts.tokens, facts.runs, facts.requests)
        # Groups and the like lie below the organization under their id, which is nobody's name there either.
        named = facts.children.get(facts.organization, ()) if facts.organization else ()
        if any(id in kind for kind in (*kinds, facts.referrers, named)):
            raise AlreadyExistsError(f"the id `{id}` is taken; use a new one")

    def new_name(self, id: ResourceId, parent: ResourceId, name: str) -> None:
        """Raise `InvalidError` for what nothing can be named, `AlreadyExistsError` if the parent has a child of that name.

        Callers and operators write an id or a name in the same places, and an id comes first: nothing is named like the id
        of something else. Tables are named with their database, and may be.
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
            raise AlreadyExistsError(f"`{name}` is the id of something here; choose another name")

    def free_name(self, parent: ResourceId, name: str) -> None:
        """Raise `AlreadyExistsError` if the parent has a child of that name.

        A preview costs nothing and leaves no trace, so that a child which the caller may not discover is not told
        of. A command that is carried out cannot succeed, and says so; the audit keeps that.
        """
        taken = self.facts.children.get(parent, NO_NAMES).get(name)
        if taken is None:
            return
        is_hidden = not self._is_visible(self.facts.resources[taken])
        if not (is_hidden and self.is_preview):
            raise AlreadyExistsError(f"there is a `{name}` already", is_hidden=is_hidden)


def require_new_name(name: str) -> None:
    """Raise `InvalidError` for what nothing can be named. Judged without a look at what there is."""
    fault = describe_new_name_fault(name)
    if fault is not None:
        raise InvalidError(f"`{name}` cannot be a name: {fault}")


def model_has_action(model: Model, action: str) -> bool:
    """Say whether the model says of an action who may do it."""
    return bool(model.roles_granting(action)) or action in model.needs


def resolve_role_model(view: CommandContext, role: str, place: Resource, named: str | None = None) -> str:
    """Return the name of the model that the role is of: the one that decides there, or that the deployment names.

    Raises `InvalidError` for a role that it does not have.
    """
    model = view.model_for(place.type, place.id)
    if named not in (None, model.name):
        if view.caller is not None or named not in view.models:
            raise InvalidError(f"roles there are of the access model `{model.name}`, not of `{named}`")
        model = view.models[named]
    if role not in model.roles and not (model.custom_roles and role in view.facts.custom_roles):
        names = ", ".join(sorted(each.name for each in model.roles.values() if place.type in each.on))
        raise InvalidError(f"the model `{model.name}` has no role `{role}`; on this there are {names or 'none'}")
    return model.name


def _build_missing_error(id: ResourceId) -> NotFoundError:
    # One text for what is hidden, missing or of another type.
    return NotFoundError(f"there is no `{id}` that you may see")


class Command(Protocol):
    """Decided on a snapshot: returns what it would write, or raises a `CommandError`."""

    @property
    def name(self) -> str:
        """The command's name in the log."""
        ...

    def decide(self, view: CommandContext) -> CommandEffect:
        """Return the changes. No clock, no I/O, no randomness: ids come in as arguments."""
        ...


def evaluate(command: Command, view: CommandContext) -> CommandEffect:
    """Decide a command: return what it writes and what allowed it, or raise a `CommandError`."""
    plan = command.decide(view)
    return replace(plan, decisions=tuple(view.decisions))
