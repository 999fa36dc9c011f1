"""The answer to a write: put together before it is written, so that the same text can be kept for repeated requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.control.kernel.metadata import CommandOutcome
from headgate.control.kernel.ports import DocumentPut, Store
from headgate.control.resources.versions import compute_upcoming_version, has_version
from headgate.endpoints.common.idempotency import IdempotencyKey
from headgate.facts.ids import ResourceId


@dataclass(slots=True)
class WriteResponse:
    """The answer to a write: its revision, the resource's new version and the fields of the route."""

    store: Store
    of: ResourceId | None
    made: Mapping[str, Any]
    once: IdempotencyKey | None
    answer: dict[str, Any] = field(default_factory=dict[str, Any])

    def keeps(self, outcome: CommandOutcome) -> tuple[DocumentPut, ...]:
        """Put the answer together; return what is kept of it."""
        self.answer = {"revision": outcome.facts.revision, **self.made}
        if self.of is not None and has_version(outcome.facts, self.of):
            self.answer["version"] = compute_upcoming_version(outcome, self.store, self.of)
        return () if self.once is None else (self.once.kept(self.answer),)
