"""The response to a write: built before the write, so that it can be stored with it for repeated requests (idempotency)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.control.kernel.idempotency import IdempotencyKey
from headgate.control.kernel.metadata import CommandOutcome
from headgate.control.kernel.ports import DocumentPut
from headgate.control.resources.versions import compute_upcoming_version, has_version
from headgate.facts.ids import ResourceId


@dataclass(slots=True)
class WriteResponse:
    """The response to a write: its revision, the new version of the resource and the fields of the route."""

    of: ResourceId | None
    made: Mapping[str, Any]
    once: IdempotencyKey | None
    answer: dict[str, Any] = field(default_factory=dict[str, Any])

    def keeps(self, outcome: CommandOutcome) -> tuple[DocumentPut, ...]:
        """Build the response; return the documents that keep it, none without an idempotency key."""
        self.answer = {"revision": outcome.facts.revision, **self.made}
        if self.of is not None and has_version(outcome.facts, self.of):
            self.answer["version"] = compute_upcoming_version(outcome, self.of)
        return () if self.once is None else (self.once.answer_document(self.answer),)
