"""The interface for decisions on one snapshot; the engine implements it, and so does the reference."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headgate.decision.context import Models
from headgate.decision.engine.instants import NO_PERIOD, Period
from headgate.decision.reference import decide, is_discoverable
from headgate.decision.types import Decision, Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot


class Answers(Protocol):
    """Decisions on one snapshot, under the models in force. Times are seconds since the epoch."""

    @property
    def models(self) -> Models:
        """The models in force, by name."""
        ...

    @property
    def facts(self) -> Snapshot:
        """The snapshot."""
        ...

    def check(self, question: Question, now: float) -> Decision:
        """Decide a question; `explain` returns the reasons."""
        ...

    def check_many(self, questions: Sequence[Question], now: float) -> tuple[Decision, ...]:
        """Decide several questions, in their order."""
        ...

    def list_resources(self, caller: Caller, action: str, now: float) -> tuple[ResourceId, ...]:
        """Return every resource on which the action is allowed, in any order."""
        ...

    def list_principals(self, action: str, resource: ResourceId, now: float) -> frozenset[PrincipalId]:
        """Return every principal that may perform the action there, without a token or run, and without parameters."""
        ...

    def is_discoverable(self, caller: Caller, resource: ResourceId, now: float) -> bool:
        """Whether the caller may know that the resource exists."""
        ...

    def period_at(self, now: float) -> Period:
        """Return a period that includes a time, and in which every decision on these facts stays the same; or `NO_PERIOD`."""
        ...

    def add_instants(self, changes: Iterable[Change]) -> None:
        """Add the instants of changes that were written, which `period_at` has to know."""
        ...

    def advance(self, changes: Iterable[Change], facts: Snapshot) -> "Answers":
        """Return the evaluator for the snapshot after these changes."""
        ...


@dataclass(frozen=True, slots=True)
class Reference:
    """Decides with `decision/reference.py`: slow, and correct by definition."""

    models: Models
    facts: Snapshot

    def check(self, question: Question, now: float) -> Decision:
        """Decide a question, with its reasons."""
        return decide(self.models, self.facts, question, now)

    def check_many(self, questions: Sequence[Question], now: float) -> tuple[Decision, ...]:
        """Decide several questions, in their order."""
        return tuple(self.check(question, now) for question in questions)

    def list_resources(self, caller: Caller, action: str, now: float) -> tuple[ResourceId, ...]:
        """Return every resource on which the action is allowed, by one decision for each resource."""
        return tuple(id for id in self.facts.resources if self.check(Question(caller, action, id), now).allowed)

    def list_principals(self, action: str, resource: ResourceId, now: float) -> frozenset[PrincipalId]:
        """Return every principal that may perform the action there, by one decision for each principal."""
        asked = ((id, Question(Caller(id), action, resource)) for id in self.facts.principals)
        return frozenset(id for id, question in asked if self.check(question, now).allowed)

    def is_discoverable(self, caller: Caller, resource: ResourceId, now: float) -> bool:
        """Whether the caller may know that the resource exists."""
        return is_discoverable(self.models, self.facts, caller, resource, now)

    def period_at(self, now: float) -> Period:  # noqa: ARG002 (the engine needs it)
        """Return `NO_PERIOD`: the reference keeps no answers."""
        return NO_PERIOD

    def add_instants(self, changes: Iterable[Change]) -> None:
        """Do nothing: the reference states no period."""

    def advance(self, changes: Iterable[Change], facts: Snapshot) -> "Reference":  # noqa: ARG002 (the engine needs it)
        """Return the reference for other facts."""
        return Reference(self.models, facts)
