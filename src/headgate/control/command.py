"""What a command is: a pure function of the snapshot, the caller, its arguments and the time."""

from dataclasses import dataclass
from typing import Protocol

from headgate.control.names import LONGEST, usable
from headgate.control.ports import DocumentPut, Pointer
from headgate.decision.asked import Models
from headgate.decision.explain import explain
from headgate.decision.records import Explanation, Question
from headgate.decision.reference import discoverable
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.model import Model


class CommandError(Exception):
    """A command cannot be accepted. Nothing was changed."""


class RefusedError(CommandError):
    """The caller may not do this."""

    def __init__(self, question: Question, explanation: Explanation) -> None:
        super().__init__(f"{question.action} on {question.resource} was refused")
        self.question = question
        self.explanation = explanation


class UnknownCallerError(CommandError):
    """The caller is nobody here any more: the principal, token or run has ended."""


class TakenError(CommandError):
    """There is something of that name already."""


class MissingError(CommandError):
    """What the command names does not exist, or may not be seen by the caller."""


class InvalidError(CommandError):
    """An argument is not usable; the message says which and what would be."""


class NotEmptyError(InvalidError):
    """What would go still holds something."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an accepted command writes."""

    changes: tuple[Change, ...]
    documents: tuple[DocumentPut, ...] = ()
    pointers: tuple[Pointer, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """What a command may look at. `caller` is None for the deployment itself, which is not checked.

    `model` is the home model, `models` are all in force.
    """

    model: Model
    models: Models
    facts: Snapshot
    caller: Caller | None
    now: float

    @property
    def actor(self) -> PrincipalId | None:
        """Who is named in the log and in the facts; None for the deployment itself."""
        return self.caller.principal if self.caller else None

    def require(self, question: Question) -> None:
        """Raise `RefusedError` unless the question is answered with allow."""
        explanation = explain(self.models, self.facts, question, self.now)
        if not explanation.decision.allowed:
            raise RefusedError(question, explanation)

    def require_action(self, action: str, resource: ResourceId) -> None:
        """Require a plain action of the caller."""
        if self.caller is not None:
            self.require(Question(self.caller, action, resource))

    def resource(self, id: ResourceId, *types: str) -> Resource:
        """Return a resource of one of the types; one that the caller may not discover is as missing."""
        found = self.facts.resources.get(id)
        if found is None or (types and found.type not in types) or not self._seen(found):
            raise MissingError(f"there is no {' or '.join(types) or 'resource'} `{id}` that you may see")
        return found

    def _seen(self, resource: Resource) -> bool:
        # Everybody in the organization knows that there is one, and its projects.
        if self.caller is None or resource.type in ("organization", "project"):
            return True
        return discoverable(self.models, self.facts, self.caller, resource.id, self.now)

    def known_principal(self, id: PrincipalId) -> None:
        """Raise `MissingError` unless there is such a principal."""
        if id not in self.facts.principals:
            raise MissingError(f"there is no principal `{id}`")

    def known_subject(self, id: SubjectId) -> None:
        """Raise `MissingError` unless there is such a principal or group."""
        if id not in self.facts.principals and id not in self.facts.groups:
            raise MissingError(f"there is no principal or group `{id}`")

    def free_id(self, id: str) -> None:
        """Raise `TakenError` if anything has this id: what is assigned on or to that is not for a newcomer."""
        kinds = (self.facts.resources, self.facts.principals, self.facts.groups, self.facts.tokens, self.facts.runs)
        if any(id in kind for kind in kinds):
            raise TakenError(f"the id `{id}` is taken; use a new one")

    def free_name(self, parent: ResourceId, name: str) -> None:
        """Raise `TakenError` if the parent has a child of that name, `InvalidError` for an unusable name."""
        if not usable(name):
            raise InvalidError(f"`{name}` cannot be a name: 1 to {LONGEST} letters, digits, `_` and `-`")
        if name in self.facts.children.get(parent, ()):
            raise TakenError(f"there is a `{name}` already")

    @property
    def root(self) -> ResourceId:
        """The organization's own resource."""
        if self.facts.organization is None:
            raise MissingError("there is no organization yet")
        return self.facts.organization


class Command(Protocol):
    """Decided on a snapshot: returns what it would write, or raises a `CommandError`."""

    @property
    def name(self) -> str:
        """The command's name in the log."""
        ...

    def plan(self, view: View) -> Plan:
        """Return the changes. No clock, no I/O, no randomness: ids come in as arguments."""
        ...
