"""A question in hand: who asks what, on which facts, under which models."""

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
    """A question on facts at a time. With `listed`, whoever asks holds every role on those resources and no other."""

    models: Models
    facts: Snapshot
    question: Question
    now: float
    listed: tuple[ResourceId, ...] | None = None

    def model(self, resource: Resource) -> Model | None:
        """Return the model that decides on the resource; none if no model in force knows its type."""
        return model_for(self.models, self.facts, resource.type, resource.id)

    def condition_input(self, model: Model, resource: Resource) -> ConditionInput:
        """Return what conditions look at."""
        return ConditionInput(self.facts, self.question, model, resource, self.now)


def model_for(models: Models, facts: Snapshot, type: str, place: ResourceId) -> Model | None:
    """Return the model that decides on resources of a type at a place or right below it; none if none knows the type."""
    found = (models.get(name) for name in facts.find_governing_models(place) if name)
    return next((model for model in found if model and type in model.types), None)
