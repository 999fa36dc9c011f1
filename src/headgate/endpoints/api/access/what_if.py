"""What if: the consequences of steps that nobody takes."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.approvals.change_payload import proposed
from headgate.control.kernel.command import Command
from headgate.control.questions.what_if import foreseen
from headgate.control.resources.commands import DeleteResource
from headgate.endpoints.api.access.questions import ASK
from headgate.endpoints.api.resources.resources import NewResource, creation
from headgate.endpoints.common.context import Services, Uses
from headgate.endpoints.common.evaluation_time import Asking, Moment
from headgate.endpoints.common.impact_schemas import ShownEffect, ShownPipeline, effect, pipeline
from headgate.endpoints.common.lookup import require
from headgate.endpoints.common.paging import MOST, Pages, page
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.resource_changes import Proposed, proposal
from headgate.endpoints.common.route_metadata import needs
from headgate.endpoints.common.schemas import Called, Page, Strict, Time
from headgate.facts.ids import PrincipalId, SubjectId

router = APIRouter(tags=["questions"])


class Holding(Strict):
    """A subject, by id or name, holds a role on a resource; with its dates, where it is to be given."""

    subject: Called
    role: Called
    resource: Called
    starts: Time | None = None
    ends: Time | None = None


class OtherwiseMade(Proposed):
    """One thing about a resource is otherwise."""

    resource: Called


class Step(Strict):
    """One step: a role is given or taken, or a resource is made, changed or deleted."""

    assign: Holding | None = None
    revoke: Holding | None = None
    create: NewResource | None = None
    change: OtherwiseMade | None = None
    delete: Called | None = None


class Steps(Strict):
    """Steps, each taken after those before it."""

    steps: Annotated[list[Step], Field(min_length=1, max_length=100)]


class EffectLine(ShownEffect):
    """What would be different for a principal on a resource."""

    id: str


class Foreseen(Page[EffectLine]):
    """What would be different, a page at a time, and which pipelines would break or open."""

    pipelines: list[ShownPipeline]


@router.post("/questions/what-if", response_model=Foreseen, **needs(ASK))
def ask_what_if(body: Steps, services: Uses, moment: Asking, pages: Pages) -> dict[str, Any]:
    """Answer what would be different for whom after these steps, whoever took them. Nothing is written."""
    require(services, moment.caller, ASK)
    found = foreseen(moment.answers, [_command(services, moment, each) for each in body.steps], moment.now)
    rows = ({"id": f"{each.principal} {each.resource}", **effect(services.directory, each)} for each in found.effects)
    answer = page(rows, pages, ("name", "principal", "resource"), moment.facts.revision)
    return {**answer, "pipelines": [pipeline(each) for each in islice(found.pipelines, MOST)]}


def _command(services: Services, moment: Moment, step: Step) -> Command:
    said = [(kind, value) for kind, value in step if value is not None]
    if len(said) != 1:
        raise ProblemError(422, "invalid", f"a step is one of {', '.join(_KINDS)}")
    kind, value = said[0]
    return _KINDS[kind](services, moment, value)


def _assign(services: Services, moment: Moment, given: Holding) -> Command:
    place = moment.resource(given.resource).id
    return AssignRole(_subject(services, moment, given.subject), given.role, place, given.ends, given.starts)


def _revoke(services: Services, moment: Moment, taken: Holding) -> Command:
    return RevokeRole(_subject(services, moment, taken.subject), taken.role, moment.resource(taken.resource).id)


def _create(_: Services, moment: Moment, new: NewResource) -> Command:
    return creation(moment, new)


def _change(_: Services, moment: Moment, change: OtherwiseMade) -> Command:
    said = Proposed(**change.model_dump(exclude={"resource"}))
    return proposed(moment.resource(change.resource), proposal(moment, said))


def _delete(_: Services, moment: Moment, name: str) -> Command:
    return DeleteResource(moment.resource(name).id)


_KINDS: Mapping[str, Callable[[Services, Moment, Any], Command]] = {
    "assign": _assign,
    "revoke": _revoke,
    "create": _create,
    "change": _change,
    "delete": _delete,
}


def _subject(services: Services, moment: Moment, name: str) -> SubjectId:
    found: SubjectId | None = services.directory.find(name)
    if found is None and PrincipalId(name) in moment.facts.principals:
        found = PrincipalId(name)
    return found if found is not None else moment.resource(name).id
