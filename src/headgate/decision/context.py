"""Context of one decision: the question, the facts, the models in force, and the time."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.decision.conditions import ConditionInput
from headgate.decision.types import Question
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.model import Model

Models = Mapping[str, Model]
"""The models in force, by name."""


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """A question on facts at a time. With `listed`, the caller counts as holder of every role on those resources only."""

    models: Models
    facts: Snapshot
    question: Question
    now: float
    listed: tuple[ResourceId, ...] | None = None

    def model(self, resource: Resource) -> Model | None:
        """Return the model that decides on the resource; None if no model in force has its type."""
        return model_for(self.models, self.facts, resource.type, resource.id)

    def condition_input(self, model: Model, resource: Resource) -> ConditionInput:
        """Return the input of conditions on the resource."""
        return ConditionInput(self.facts, self.question, model, resource, self.now)


def model_for(models: Models, facts: Snapshot, type: str, place: ResourceId) -> Model | None:
    """Return the model that decides on resources of a type at a place or directly below it; None if none has the type."""
    found = (models.get(name) for name in facts.find_governing_models(place) if name)
    return next((model for model in found if model and type in model.types), None)
