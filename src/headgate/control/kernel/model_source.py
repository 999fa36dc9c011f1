"""The source of access models for decisions on a log, and the document that stores a model."""

from dataclasses import dataclass
from typing import Final, Protocol

from headgate.control.kernel.ports import DocumentPut
from headgate.decision.context import Models
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model

MODEL_SOURCE: Final = "model"
"""The kind of document with the source of a model. Its id is the hash of the source."""


@dataclass(frozen=True, slots=True)
class SourcedModel:
    """A loaded access model with the text of its file."""

    model: Model
    source: str

    @property
    def document(self) -> DocumentPut:
        """The document that stores the source."""
        return DocumentPut(MODEL_SOURCE, self.model.hash, {"name": self.model.name, "source": self.source})


class ModelSource(Protocol):
    """Finds the access models by the hashes that logs state."""

    def find(self, hash: str) -> SourcedModel | None:
        """Return the model whose source has this hash, or None if it is not stored."""
        ...

    def in_force(self, facts: Snapshot) -> Models:
        """Return every model that decides in the organization, or decided once, in the version that the facts state.

        Raises `StoreError` if the source of one that decides now is not stored.
        """
        ...
