"""A question in hand: who asks what, on which facts, under which models; and whether whoever asks is anybody."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.decision.conditions import ConditionInput
from headgate.decision.types import DenyReason, Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import SUSPENDED, Resource, Snapshot
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
    found = (models.get(name) for name in facts.governing(place) if name)
    return next((model for model in found if model and type in model.types), None)


def caller_invalid(facts: Snapshot, caller: Caller, now: float) -> DenyReason | None:
    """Return why the caller cannot act in the organization, or None if it can. A team can be the caller: it can be a consumer.

    The suspension of the organization comes last: only callers that could act in it otherwise learn of it.
    """
    principal, team = facts.principals.get(caller.principal), facts.resources.get(ResourceId(caller.principal))
    if principal is None and (team is None or team.type not in ("team", "domain")):
        return DenyReason("no-principal")
    if principal is not None and _expired(principal.ends, now):
        return DenyReason("no-principal")
    if caller.token is not None:
        token = facts.tokens.get(caller.token)
        if token is None or token.principal != caller.principal or _expired(token.ends, now):
            return DenyReason("no-token")
    if caller.run is not None:
        run = facts.runs.get(caller.run)
        if run is None or run.run_as != caller.principal:
            return DenyReason("no-run")
    return DenyReason(SUSPENDED) if facts.is_suspended else None


def _expired(ends: float | None, now: float) -> bool:
    return ends is not None and ends <= now
