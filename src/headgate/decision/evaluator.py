"""What answers every question on one snapshot: the engine, or the reference behind the same calls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headgate.decision.context import Models
from headgate.decision.reference import decide, is_discoverable
from headgate.decision.types import Decision, Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot


class Answers(Protocol):
    """Answers on one snapshot, under the models in force. Times are seconds since the epoch."""

    @property
    def models(self) -> Models:
        """The models in force, by name."""
        ...

    @property
    def facts(self) -> Snapshot:
        """The snapshot."""
        ...

    def check(self, question: Question, now: float) -> Decision:
        """Answer a question; `explain` says why."""
        ...

    def check_many(self, questions: Sequence[Question], now: float) -> tuple[Decision, ...]:
        """Answer several questions, in their order."""
        ...

    def list_resources(self, caller: Caller, action: str, now: float) -> tuple[ResourceId, ...]:
        """Return every resource on which the action is allowed, in any order."""
        ...

    def list_principals(self, action: str, resource: ResourceId, now: float) -> frozenset[PrincipalId]:
        """Return every principal that may do the action there, by itself and without parameters."""
        ...

    def is_discoverable(self, caller: Caller, resource: ResourceId, now: float) -> bool:
        """Say whether the caller may know that the resource is there."""
        ...

    def advance(self, changes: Iterable[Change], facts: Snapshot) -> "Answers":
        """Return what answers on the snapshot that these changes led to."""
        ...


@dataclass(frozen=True, slots=True)
class Reference:
    """Answers as `decision/reference.py` does: slow, and right by definition."""

    models: Models
    facts: Snapshot

    def check(self, question: Question, now: float) -> Decision:
        """Answer a question, with its reasons."""
        return decide(self.models, self.facts, question, now)

    def check_many(self, questions: Sequence[Question], now: float) -> tuple[Decision, ...]:
        """Answer several questions, in their order."""
        return tuple(self.check(question, now) for question in questions)

    def list_resources(self, caller: Caller, action: str, now: float) -> tuple[ResourceId, ...]:
        """Return every resource on which the action is allowed: each is asked about."""
        return tuple(id for id in self.facts.resources if self.check(Question(caller, action, id), now).allowed)

    def list_principals(self, action: str, resource: ResourceId, now: float) -> frozenset[PrincipalId]:
        """Return every principal that may do the action there: each is asked about."""
        asked = ((id, Question(Caller(id), action, resource)) for id in self.facts.principals)
        return frozenset(id for id, question in asked if self.check(question, now).allowed)

    def is_discoverable(self, caller: Caller, resource: ResourceId, now: float) -> bool:
        """Say whether the caller may know that the resource is there."""
        return is_discoverable(self.models, self.facts, caller, resource, now)

    def advance(self, changes: Iterable[Change], facts: Snapshot) -> "Reference":  # noqa: ARG002 (an engine's calls)
        """Return the reference on other facts."""
        return Reference(self.models, facts)
