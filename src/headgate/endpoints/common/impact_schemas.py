"""What would be different for whom, and which pipelines would break or open, as answers say it."""

from typing import Any

from pydantic import BaseModel

from headgate.control.identity.directory import Directory
from headgate.decision.diff.results import Ability, PipelineImpact, SubjectImpact


class ImpactAbility(BaseModel):
    """An action; `role` is there where it is about an assignment."""

    action: str
    role: str | None = None


class ImpactEffect(BaseModel):
    """What a principal loses and gains on a resource; `before` and `after` are the roles that give as much there."""

    principal: str
    name: str
    resource: str
    before: str | None = None
    after: str | None = None
    lost: list[ImpactAbility]
    gained: list[ImpactAbility]


class ImpactedPipeline(BaseModel):
    """A pipeline that breaks by what is lost, or opens by what is gained."""

    pipeline: str
    run_as: str | None = None
    breaks: bool
    opens: bool


def effect(directory: Directory, found: SubjectImpact) -> dict[str, Any]:
    """Return what differs for one principal on one resource."""
    return {
        "principal": found.principal,
        "name": directory.name(found.principal),
        "resource": found.resource,
        "before": found.before,
        "after": found.after,
        "lost": [_ability(each) for each in found.lost],
        "gained": [_ability(each) for each in found.gained],
    }


def describe_pipeline_change(found: PipelineImpact) -> dict[str, Any]:
    """Return what becomes of a pipeline."""
    return {"pipeline": found.pipeline, "run_as": found.run_as, "breaks": found.breaks, "opens": found.opens}


def _ability(ability: Ability) -> dict[str, str]:
    action, role = ability
    return {"action": action, "role": role} if role else {"action": action}
