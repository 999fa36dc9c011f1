"""Notifications: approvals that wait for the caller, and results of the caller's requests. They are computed, not stored."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pydantic import BaseModel

from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.ports import DocumentPut
from headgate.control.kernel.run_queue import FAILED, REFUSED, RunFilter
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.runs import has_no_run_as
from headgate.decision.types import Question
from headgate.endpoints.api.access.access_requests import requests_for
from headgate.endpoints.api.pipelines.runs import find_known_action, may_see, runs_for
from headgate.endpoints.common.context import CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, Evaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import caller_only, document_actions
from headgate.endpoints.common.schemas import Called, page_model
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource

router = ApiRouter(tags=["notifications"])

_KIND = "dismissed"
_OPEN = "requested"
_WENT_WRONG = RunFilter(states=(FAILED, REFUSED))
_RUNS = 200
"""The maximum number of failed or refused runs that notifications report; the newest ones."""


class Notification(BaseModel):
    """A notification about an object: its `kind`, its id `of`, the name of the resource that it is `about`, and its `state`."""

    id: str
    kind: str
    of: str
    about: str
    state: str


class NotificationDismissal(BaseModel):
    """A notification that the caller has dismissed."""

    id: str
    revision: int


@router.get(
    "/notifications",
    response_model=page_model(Notification),
    **caller_only("returns only notifications for the caller"),
)
def list_notifications(
    organization: CurrentOrganization, moment: CurrentEvaluation, pages: CurrentPaging
) -> dict[str, Any]:
    """List the notifications of the caller.

    They report approvals that wait for the caller, decisions on the caller's requests, failed or refused runs, and pipelines
    without a valid run-as principal.
    """
    found = {each["id"]: each for each, _ in _list_all(organization, moment)}
    gone = organization.store.documents(_KIND, [_notification_id(moment, id) for id in found])
    rows = [each for id, each in found.items() if _notification_id(moment, id) not in gone]
    return page_of_rows(rows, pages, ("kind", "about", "state"), moment.facts.revision)


@router.post(
    "/notifications/{notification}/dismiss",
    response_model=NotificationDismissal,
    **document_actions("{type}.dismiss_notification"),
)
def dismiss_notification(
    notification: Called, organization: CurrentOrganization, moment: CurrentEvaluation
) -> dict[str, Any]:
    """Dismiss a notification. Needs an action only if the access model has `dismiss_notification` for the pipeline."""
    found = {each["id"]: pipeline for each, pipeline in _list_all(organization, moment)}
    if notification not in found:
        raise NotFoundError(
            f"you have no notification `{notification}`; `headgate notification list` or `GET /api/v1/notifications` lists your notifications"
        )
    pipeline = found[notification]
    action = find_known_action(moment, pipeline, "dismiss_notification") if pipeline else None
    if pipeline and action:
        organization.control.require(Question(moment.caller, action, pipeline.id))
    organization.store.put_document(DocumentPut(_KIND, _notification_id(moment, notification), {}))
    return {"id": notification, "revision": moment.facts.revision}


def _notification_id(moment: Evaluation, id: str) -> str:
    return f"{moment.caller.principal} {id}"


def _list_all(organization: Organization, moment: Evaluation) -> Iterator[tuple[dict[str, Any], Resource | None]]:
    """Yield every notification of the caller, with the pipeline that it is about, or None."""
    for each in (*_requests(organization, moment.caller), *_access(moment), *_changes(moment)):
        yield each, None
    for row, pipeline in islice(runs_for(organization.store, moment, _WENT_WRONG), _RUNS):
        if _concerns(moment, pipeline):
            yield _notification("run", row.run, moment.name(pipeline.id), row.state), pipeline
    for pipeline in _list_waiting(organization, moment):
        yield _notification("pipeline", pipeline.id, moment.name(pipeline.id), "waiting"), pipeline


def _list_waiting(organization: Organization, moment: Evaluation) -> Iterator[Resource]:
    """Yield the pipelines whose runs wait until a user saves the pipeline, because it has no valid run-as principal."""
    facts, kinds = moment.facts, shipped_vocabulary().pipeline_kinds
    alone = [
        each for each in facts.resources.values() if each.type in kinds and has_no_run_as(facts, each.id, moment.now)
    ]
    defined = organization.store.documents("pipeline", [each.id for each in alone])
    yield from (each for each in alone if each.id in defined and may_see(moment, each) and _concerns(moment, each))


def _concerns(moment: Evaluation, pipeline: Resource) -> bool:
    viewing = find_known_action(moment, pipeline, "view_notification")
    return viewing is None or _may(moment, viewing, pipeline.id)


def _requests(organization: Organization, caller: Caller) -> Iterator[dict[str, Any]]:
    for each in requests_for(organization, caller):
        if each["waiting"] or each["state"] != _OPEN:
            yield _notification("request", each["id"], each["resource"], each["state"])


def _access(moment: Evaluation) -> Iterator[dict[str, Any]]:
    mine = moment.caller.principal
    for id, each in moment.facts.agreements.items():
        decided = each.state != _OPEN and mine in (each.author, each.consumer) and _is_told(moment, each.port)
        if decided or (each.state == _OPEN and _may(moment, "access.approve", id)):
            yield _notification("access", id, moment.name(each.port), each.state)


def _changes(moment: Evaluation) -> Iterator[dict[str, Any]]:
    for id, each in moment.facts.change_requests.items():
        decided = each.state != _OPEN and each.author == moment.caller.principal and _is_told(moment, each.resource)
        if decided or (each.state == _OPEN and _may(moment, "change_request.approve", id)):
            yield _notification("change_request", id, moment.name(each.resource), each.state)


def _is_told(moment: Evaluation, about: ResourceId) -> bool:
    """Return whether the caller is notified of the decision on its principal's request about a resource.

    A narrowed caller is notified only about resources that it may see.
    """
    return moment.sees(about) or not is_narrowed(moment.facts, moment.caller)


def _may(moment: Evaluation, action: str, resource: ResourceId) -> bool:
    return moment.answers.check(Question(moment.caller, action, resource), moment.now).allowed


def _notification(kind: str, of: str, about: str, state: str) -> dict[str, Any]:
    return {"id": f"{kind}.{of}.{state}", "kind": kind, "of": of, "about": about, "state": state}
