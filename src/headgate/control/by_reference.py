"""The reference behind the calls of an engine: slow, and right by definition."""

from collections.abc import Iterable
from dataclasses import dataclass

from headgate.decision.asked import Models
from headgate.decision.records import Decision, Question
from headgate.decision.reference import decide, discoverable
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ByReference:
    """Decides on one snapshot as `decision/reference.py` does."""

    models: Models
    facts: Snapshot

    def check(self, question: Question, now: float) -> Decision:
        """Answer a question at a time (seconds since the epoch)."""
        return decide(self.models, self.facts, question, now)

    def discoverable(self, caller: Caller, resource: ResourceId, now: float) -> bool:
        """Say whether the caller may know that the resource is there."""
        return discoverable(self.models, self.facts, caller, resource, now)

    def advance(self, changes: Iterable[Change], facts: Snapshot) -> "ByReference":  # noqa: ARG002 (an engine's calls)
        """Return what decides on the snapshot that these changes led to."""
        return ByReference(self.models, facts)
