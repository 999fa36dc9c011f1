"""Schemas of an impact analysis: the actions that principals would lose and gain, and the pipelines that would be affected."""

from typing import Any

from pydantic import BaseModel

from headgate.control.identity.directory import Directory
from headgate.decision.diff.results import Ability, PipelineImpact, SubjectImpact


class ImpactAbility(BaseModel):
    """An action; for an action on assignments, `role` is the role that may be assigned or revoked."""

    action: str
    role: str | None = None


class ImpactEffect(BaseModel):
    """The actions that a principal loses and gains on a resource.

    `before` and `after` are the roles whose actions equal those of the principal before and after; null if there is none.
    """

    principal: str
    name: str
    resource: str
    before: str | None = None
    after: str | None = None
    lost: list[ImpactAbility]
    gained: list[ImpactAbility]


class ImpactedPipeline(BaseModel):
    """A pipeline that `breaks`, because a privilege that it needs is lost, or `opens`, because a privilege is gained."""

    pipeline: str
    run_as: str | None = None
    breaks: bool
    opens: bool


def effect(directory: Directory, found: SubjectImpact) -> dict[str, Any]:
    """Return the impact on one principal and one resource, for a response."""
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
    """Return the impact on a pipeline, for a response."""
    return {"pipeline": found.pipeline, "run_as": found.run_as, "breaks": found.breaks, "opens": found.opens}


def _ability(ability: Ability) -> dict[str, str]:
    action, role = ability
    return {"action": action, "role": role} if role else {"action": action}
