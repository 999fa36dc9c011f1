"""Results of a comparison of two states of an organization: changed decisions, and affected pipelines."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from headgate.facts.ids import PrincipalId, ResourceId


class Ability(NamedTuple):
    """An action and, for the action of assigning, the role that is assigned (to oneself); empty for any other action."""

    action: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """A decision that a change reverses; `allowed` is the decision afterwards."""

    principal: PrincipalId
    ability: Ability
    resource: ResourceId
    allowed: bool


@dataclass(frozen=True, slots=True)
class SubjectImpact:
    """The abilities that one principal loses and gains on one resource.

    `before` and `after` are the model's role that corresponds to the principal's abilities there; None if there is none.
    """

    principal: PrincipalId
    resource: ResourceId
    before: str | None
    after: str | None
    lost: tuple[Ability, ...]
    gained: tuple[Ability, ...]

    def flips(self) -> Iterator[DecisionChange]:
        """Yield the decisions that are reversed."""
        yield from (DecisionChange(self.principal, each, self.resource, allowed=False) for each in self.lost)
        yield from (DecisionChange(self.principal, each, self.resource, allowed=True) for each in self.gained)


@dataclass(frozen=True, slots=True)
class PipelineImpact:
    """A pipeline that `breaks`, as actions are lost, or `opens`, as actions are gained.

    `lost` are declared actions that its run-as principal may no longer perform; without a run-as principal, actions on
    the pipeline that principals may no longer perform. `gained` is the reverse, and also the actions on the pipeline
    that principals may now perform.
    """

    pipeline: ResourceId
    run_as: PrincipalId | None
    lost: tuple[DecisionChange, ...]
    gained: tuple[DecisionChange, ...]

    @property
    def breaks(self) -> bool:
        """Whether the pipeline loses an action that it needs."""
        return bool(self.lost)

    @property
    def opens(self) -> bool:
        """Whether any action is gained."""
        return bool(self.gained)


@dataclass(frozen=True, slots=True)
class Impact:
    """All differences: by principal and resource, sorted, and by pipeline. The lists are complete."""

    effects: tuple[SubjectImpact, ...]
    pipelines: tuple[PipelineImpact, ...]

    def flips(self) -> Iterator[DecisionChange]:
        """Yield every decision that is reversed."""
        for effect in self.effects:
            yield from effect.flips()
