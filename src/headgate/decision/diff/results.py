"""What differs between two states of an organization: who may do what, and which pipelines work."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from headgate.facts.ids import PrincipalId, ResourceId


class Ability(NamedTuple):
    """An action, and where it is about an assignment, the role that it assigns (to oneself); empty for any other."""

    action: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """A decision that is another afterwards: `allowed` says what it is then."""

    principal: PrincipalId
    ability: Ability
    resource: ResourceId
    allowed: bool


@dataclass(frozen=True, slots=True)
class SubjectImpact:
    """What one principal loses and gains on one resource.

    `before` and `after` are the role of the model that gives as much there as the principal may do; None for none.
    """

    principal: PrincipalId
    resource: ResourceId
    before: str | None
    after: str | None
    lost: tuple[Ability, ...]
    gained: tuple[Ability, ...]

    def flips(self) -> Iterator[DecisionChange]:
        """Yield the decisions that are another afterwards."""
        yield from (DecisionChange(self.principal, each, self.resource, allowed=False) for each in self.lost)
        yield from (DecisionChange(self.principal, each, self.resource, allowed=True) for each in self.gained)


@dataclass(frozen=True, slots=True)
class PipelineImpact:
    """A pipeline that `breaks`, by what is lost, or `opens`, by what is gained.

    Lost is what its run-as principal may not do any more though the pipeline declares it; without a run-as
    principal, what people may not do any more with the pipeline. Gained is the reverse, and what people may now do
    with the pipeline.
    """

    pipeline: ResourceId
    run_as: PrincipalId | None
    lost: tuple[DecisionChange, ...]
    gained: tuple[DecisionChange, ...]

    @property
    def breaks(self) -> bool:
        """Say whether something that it needs is lost."""
        return bool(self.lost)

    @property
    def opens(self) -> bool:
        """Say whether somebody gains."""
        return bool(self.gained)


@dataclass(frozen=True, slots=True)
class Impact:
    """All that differs: by principal and resource, sorted, and by pipeline. Nothing is left out."""

    effects: tuple[SubjectImpact, ...]
    pipelines: tuple[PipelineImpact, ...]

    def flips(self) -> Iterator[DecisionChange]:
        """Yield every decision that is another afterwards."""
        for effect in self.effects:
            yield from effect.flips()
