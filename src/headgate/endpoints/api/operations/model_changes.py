"""Changes of the access models of an organization by an operator: upgrades, and other models."""

from collections import defaultdict
from typing import Annotated, Any

from pydantic import BaseModel, Field

from headgate.control.kernel.errors import InvalidError
from headgate.control.models.change import (
    ConfirmationRequiredError,
    ModelChangePreview,
    RequestedModel,
    build_change,
    change_model,
    preview_change,
)
from headgate.control.models.change_commands import CHANGE_MODEL, AuthorizeModelChange
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.context import CurrentApp
from headgate.endpoints.common.deployment_callers import WritesDeployment
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.route_metadata import document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema
from headgate.endpoints.common.writes import WriteAnswer
from headgate.facts.ids import ResourceId

_CUSTOM = "custom role"
"""The word for all custom roles of the organization, whose names an operator may not see."""

router = ApiRouter(prefix="/deployment/organizations", tags=["deployment"])


class ModelChoice(StrictSchema):
    """The access model that an organization, or one of its projects, is to use.

    The model becomes the home model, or decides in the project with the id `project`. With `upgrade`, it is upgraded wherever it
    decides. `version` is an installed version; if it is left out, it is the current one, or else that which decides in the
    organization already. `confirmation` is that of a dry run.
    """

    model: Called
    upgrade: bool = False
    version: Annotated[int | None, Field(ge=1, le=10**9)] = None
    project: Called | None = None
    confirmation: Annotated[Text | None, Field(max_length=64)] = None


class ChangedDecisions(BaseModel):
    """How many decisions about an action change on resources of a type, and for how many principals."""

    action: str
    lost: int
    gained: int
    principals: int


class LostAssignments(BaseModel):
    """How many assignments of a role lose their meaning."""

    role: str
    model: str
    assignments: int


class ModelChangeAnswer(WriteAnswer):
    """The revision of the deployment's log, or the effects of a change of an access model for a dry run.

    The effects are numbers, because an operator has no right to see what is in an organization. `confirmation` confirms exactly
    these effects; without it, the model is in force already. `sections` are the parts of the model that differ from the present
    one: a rule about assigning to others, or about new resources and users, may alter no decision of today.
    """

    model: str | None = None
    model_version: int | None = None
    decisions: list[ChangedDecisions] | None = None
    lost_assignments: list[LostAssignments] | None = None
    pipelines_that_break: int | None = None
    sections: list[str] | None = None
    confirmation: str | None = None


@router.put(
    "/{organization}/model",
    response_model=ModelChangeAnswer,
    response_model_exclude_none=True,
    **document_actions(CHANGE_MODEL),
)
def put_organization_model(
    organization: Called, body: ModelChoice, deployed: CurrentApp, write: WritesDeployment
) -> dict[str, Any]:
    """Upgrade an access model of an organization, or choose another one. It needs the confirmation of its dry run."""
    organizations = deployed.organizations
    id = organizations.resolve_listed_id(organization)
    decided = write.decide(AuthorizeModelChange(id), id, id=id)
    there = organizations.open(id)
    if body.upgrade and body.project is not None:
        raise InvalidError("`upgrade` is for the whole organization; leave out `project`")
    project = None if body.project is None else ResourceId(body.project)
    wanted = RequestedModel(body.model, body.version, project, body.upgrade)
    if write.dry_run:
        return _describe(there, preview_change(there, build_change(organizations, there, wanted)))
    try:
        change_model(organizations, there, wanted, body.confirmation, write.caller, write.call)
    except ConfirmationRequiredError as error:
        raise ProblemError(409, "conflict", str(error)) from error
    return decided.finish()


def _describe(organization: Organization, preview: ModelChangePreview) -> dict[str, Any]:
    impact, model = preview.impact, preview.command.model
    return {
        "id": organization.id,
        "model": model.name,
        "model_version": model.version,
        "revision": preview.facts.revision,
        "dry_run": True,
        "decisions": _count_decisions(preview),
        "lost_assignments": _count_lost(preview),
        "pipelines_that_break": sum(each.breaks for each in impact.pipelines),
        "sections": list(preview.sections),
        "confirmation": preview.confirmation if preview.is_needed else None,
    }


def _count_decisions(preview: ModelChangePreview) -> list[dict[str, Any]]:
    lost, gained = defaultdict[str, int](int), defaultdict[str, int](int)
    people = defaultdict[str, set[str]](set)
    for flip in preview.impact.flips():
        (gained if flip.allowed else lost)[flip.ability.action] += 1
        people[flip.ability.action].add(flip.principal)
    return [
        {"action": action, "lost": lost[action], "gained": gained[action], "principals": len(people[action])}
        for action in sorted(people)
    ]


def _count_lost(preview: ModelChangePreview) -> list[dict[str, Any]]:
    counts = defaultdict[tuple[str, str], int](int)
    for given in preview.lost:
        role = _CUSTOM if given.role in preview.facts.custom_roles else given.role
        counts[role, given.model] += 1
    return [{"role": role, "model": model, "assignments": count} for (role, model), count in sorted(counts.items())]
