"""Impact analysis (what-if): the effects of hypothetical steps. Nothing is written."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.approvals.change_payload import command_from_payload
from headgate.control.kernel.command import Command
from headgate.control.organizations.organization import Organization
from headgate.control.questions.what_if import impact_of_commands
from headgate.control.resources.commands import DeleteResource
from headgate.endpoints.api.access.questions import ASK
from headgate.endpoints.api.resources.resources import ResourceCreate, build_creation
from headgate.endpoints.common.context import CurrentOrganization
from headgate.endpoints.common.evaluation_time import Evaluation, RequestedEvaluation
from headgate.endpoints.common.impact_schemas import ImpactedPipeline, ImpactEffect, describe_pipeline_change, effect
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import require_on_organization
from headgate.endpoints.common.paging import MAX_PAGE, CurrentPaging, page_of_rows
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.resource_changes import ProposedChange, parse_proposal
from headgate.endpoints.common.route_metadata import document_actions
from headgate.endpoints.common.schemas import Called, Page, StrictSchema, Time
from headgate.facts.ids import PrincipalId, SubjectId

router = ApiRouter(tags=["questions"])


class WhatIfAssignment(StrictSchema):
    """A role of a subject (an id or name) on a resource. `starts` and `ends` apply to `assign` only."""

    subject: Called
    role: Called
    resource: Called
    starts: Time | None = None
    ends: Time | None = None


class WhatIfChange(ProposedChange):
    """A change of a resource."""

    resource: Called


class WhatIfStep(StrictSchema):
    """One step: assign or revoke a role, or create, change or delete a resource."""

    assign: WhatIfAssignment | None = None
    revoke: WhatIfAssignment | None = None
    create: ResourceCreate | None = None
    change: WhatIfChange | None = None
    delete: Called | None = None


class WhatIfQuestion(StrictSchema):
    """Hypothetical steps, applied in order."""

    steps: Annotated[list[WhatIfStep], Field(min_length=1, max_length=100)]


class PrincipalImpact(ImpactEffect):
    """The effect of the steps on a principal and a resource."""

    id: str


class ImpactPage(Page[PrincipalImpact]):
    """A page of the effects, and the pipelines that would break or open."""

    pipelines: list[ImpactedPipeline]


@router.post("/questions/what-if", response_model=ImpactPage, **document_actions(ASK))
def analyze_impact(
    body: WhatIfQuestion, organization: CurrentOrganization, moment: RequestedEvaluation, pages: CurrentPaging
) -> dict[str, Any]:
    """Analyze the impact of hypothetical steps: the actions that principals would lose and gain, and the affected pipelines.

    Nothing is written. The steps are not checked against the privileges of the caller.
    """
    require_on_organization(organization, moment.caller, ASK)
    found = impact_of_commands(
        moment.answers, [_command(organization, moment, each) for each in body.steps], moment.now
    )
    rows = (
        {"id": f"{each.principal} {each.resource}", **effect(organization.directory, each)} for each in found.effects
    )
    answer = page_of_rows(rows, pages, ("name", "principal", "resource"), moment.facts.revision)
    return {**answer, "pipelines": [describe_pipeline_change(each) for each in islice(found.pipelines, MAX_PAGE)]}


def _command(organization: Organization, moment: Evaluation, step: WhatIfStep) -> Command:
    said = [(kind, value) for kind, value in step if value is not None]
    if not said:
        raise ProblemError(422, "invalid", f"a step is empty; set one of {', '.join(_KINDS)} in it")
    if len(said) > 1:
        named = " and ".join(f"`{kind}`" for kind, _ in said)
        raise ProblemError(422, "invalid", f"a step has {named}; split it into one step for each")
    kind, value = said[0]
    return _KINDS[kind](organization, moment, value)


def _assign(organization: Organization, moment: Evaluation, given: WhatIfAssignment) -> Command:
    place = moment.resource(given.resource).id
    return AssignRole(_subject(organization, moment, given.subject), given.role, place, given.ends, given.starts)


def _revoke(organization: Organization, moment: Evaluation, taken: WhatIfAssignment) -> Command:
    return RevokeRole(_subject(organization, moment, taken.subject), taken.role, moment.resource(taken.resource).id)


def _create(_: Organization, moment: Evaluation, new: ResourceCreate) -> Command:
    return build_creation(moment, new)


def _change(_: Organization, moment: Evaluation, change: WhatIfChange) -> Command:
    said = ProposedChange(**change.model_dump(exclude={"resource"}))
    return command_from_payload(moment.resource(change.resource), parse_proposal(moment, said))


def _delete(_: Organization, moment: Evaluation, name: str) -> Command:
    return DeleteResource(moment.resource(name).id)


_KINDS: Mapping[str, Callable[[Organization, Evaluation, Any], Command]] = {
    "assign": _assign,
    "revoke": _revoke,
    "create": _create,
    "change": _change,
    "delete": _delete,
}


def _subject(organization: Organization, moment: Evaluation, name: str) -> SubjectId:
    found: SubjectId | None = organization.directory.find(name)
    if found is None and PrincipalId(name) in moment.facts.principals:
        found = PrincipalId(name)
    return found if found is not None else moment.resource(name).id
